package publish

import (
	"strings"
	"testing"

	"github.com/prbench/prbench/internal/forgetest"
	"github.com/prbench/prbench/internal/job"
)

// GitHub leads from the former name to the new one only until somebody takes it.
func TestAReportIsPutWhereItsRepositoryIsNow(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	j := w.ask(nil)
	w.measure(2)
	w.ok(w.Rename("writer", w.repo, "motor"))
	squatter, err := w.AddRepo("acme/engine2", forgetest.RepoSpec{Build: forgetest.WriteFiles("first", map[string]string{"speed.txt": "slow\n"})})
	w.ok(err)
	w.ok(w.Rename("writer", squatter, "engine"))
	w.run(w.publisher())
	got := w.shown(j.ID)
	if got.State != job.Done || got.Repository.FullName() != "acme/motor" || got.Published.CommentID == 0 || got.Published.Problem != "" {
		t.Errorf("job %+v", got)
	}
	if body := w.onlyComment(); !strings.Contains(body, "Encode") {
		t.Errorf("the comment:\n%s", body)
	}
	for _, r := range w.RequestsTo("POST", "/repos/acme/engine/*") {
		t.Errorf("%s %s: a request to the squatter", r.Method, r.Path)
	}
}

func TestAReportOfADeletedRepositoryIsGivenUpAtOnce(t *testing.T) {
	t.Parallel()
	for name, goes := range map[string]func(*world) error{
		"deleted":     func(w *world) error { return w.DeleteRepo("writer", w.repo) },
		"uninstalled": func(w *world) error { return w.Uninstall("writer", w.inst) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			j := w.ask(nil)
			w.measure(2)
			w.ok(goes(w))
			w.run(w.publisher())
			got := w.shown(j.ID)
			if got.State != job.Done || got.Published.Problem == "" || got.Published.Retries != 0 {
				t.Errorf("job %+v", got)
			}
			if log := w.log.String(); strings.Count(log, "the report is given up") != 1 || !strings.Contains(log, string(j.ID)) {
				t.Errorf("the log:\n%s", log)
			}
		})
	}
}

func TestAJobOfASuspendedInstallationRestsUntilItIsReleased(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	j := w.ask(nil)
	w.measure(2)
	w.ok(w.Suspend("writer", w.inst, true))
	w.run(w.publisher())
	w.await(j.ID, "is tried", func(j job.Job) bool { return j.Published.Retries == 1 })
	w.ok(w.Suspend("writer", w.inst, false))
	// Nobody has told that it goes on: it rests for hours, whatever changes.
	_, err := w.store.Update(t.Context(), j.ID, func(j *job.Job) error { j.Notes = append(j.Notes, "a note"); return nil })
	w.ok(err)
	if got, err := w.store.Get(t.Context(), j.ID); err != nil || got.Published.Retries != 1 || got.Published.Revision != 0 {
		t.Errorf("job %+v, %v", got, err)
	}
	_, err = w.store.Update(t.Context(), j.ID, func(j *job.Job) error { j.Refresh++; return nil })
	w.ok(err)
	if got := w.shown(j.ID); got.State != job.Done || got.Published.CommentID == 0 {
		t.Errorf("job %+v", got)
	}
}

func TestAHeldJobIsNotTriedAtAll(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	held := w.ask(func(j *job.Job) { j.Held = "the App's installation is suspended" })
	other := w.ask(nil)
	w.run(w.publisher())
	w.await(other.ID, "is shown", func(j job.Job) bool { return j.Published.Revision == j.Revision })
	if l := w.claim(); l.Job.ID != other.ID {
		t.Errorf("job %s is handed out, want %s", l.Job.ID, other.ID)
	}
	if got, err := w.store.Get(t.Context(), held.ID); err != nil || got.Published.CheckRun != 0 || got.Published.Retries != 0 {
		t.Errorf("job %+v, %v", got, err)
	}
	_, err := w.store.Update(t.Context(), held.ID, func(j *job.Job) error { j.Held = ""; j.Refresh++; return nil })
	w.ok(err)
	w.await(held.ID, "is shown", func(j job.Job) bool { return j.Published.Revision == j.Revision && j.Published.CheckRun != 0 })
	if l := w.claim(); l.Job.ID != held.ID {
		t.Errorf("job %s is handed out, want %s", l.Job.ID, held.ID)
	}
}
