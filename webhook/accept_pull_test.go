package webhook

import (
	"strings"
	"testing"

	"github.com/prbench/prbench/internal/forgetest"
	"github.com/prbench/prbench/internal/job"
)

// running makes the job run, as a runner's claim does.
func (w *world) running(j job.Job) {
	w.t.Helper()
	_, err := w.store.Update(w.t.Context(), j.ID, func(j *job.Job) error {
		j.State, j.Try = job.Running, 1
		return nil
	})
	w.ok(err)
}

func TestAClosedPullRequestTakesBackWhatWaitsAndLetsRunWhatRuns(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*world) error{
		"closed": func(w *world) error { return w.ClosePull("contributor", w.pull) },
		"merged": func(w *world) error { return w.MergePull("writer", w.pull) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, goodConfig)
			w.comment("writer", "/benchmark http\n/benchmark strings")
			w.running(w.jobs()[0])
			w.later()
			w.ok(end(w))
			w.settle()
			jobs := w.jobs()
			if jobs[0].State != job.Running || jobs[0].Cancel != nil {
				t.Errorf("the job that ran: %+v", jobs[0])
			}
			if jobs[1].State != job.Cancelled || !strings.Contains(jobs[1].Cancel.Reason, "closed") {
				t.Errorf("the job that waited: %+v", jobs[1])
			}
			if said := w.replies(); len(said) != 0 {
				t.Errorf("replies %q", said)
			}
		})
	}
}

func TestAChangedBaseIsNotedAndLeavesTheCommitsOfAJob(t *testing.T) {
	t.Parallel()
	w := newWorld(t, goodConfig)
	w.label("writer", "benchmark")
	before := w.onlyJob()
	_, err := w.Push("writer", w.repo, "release", forgetest.WriteFiles("a release", map[string]string{"release.txt": "1\n"}))
	w.ok(err)
	w.later()
	w.ok(w.ChangeBase("writer", w.pull, "release"))
	w.settle()
	after := w.onlyJob()
	if after.Base != before.Base || after.Head != before.Head || after.State != job.Queued {
		t.Errorf("job %+v", after)
	}
	if len(after.Notes) != 1 || !strings.Contains(after.Notes[0], "changed from `main` to `release`") {
		t.Errorf("notes %q", after.Notes)
	}
}

func TestANewTitleIsNoEvent(t *testing.T) {
	t.Parallel()
	e := `{"action":"edited","changes":{"title":{"from":"old"}},"pull_request":{"number":1,"state":"open","head":{"sha":"` +
		strings.Repeat("a", 40) + `"},"base":{"ref":"main"}},"repository":{"id":5,"full_name":"acme/engine"}}`
	if _, acts, err := Reduce("pull_request", "d", testTime, []byte(e)); acts || err != nil {
		t.Errorf("acts %v, %v", acts, err)
	}
}

func TestAnEditThatTakesTheMistakeAwayTakesTheReplyBack(t *testing.T) {
	t.Parallel()
	for name, to := range map[string]string{"all of it": "Never mind.", "the mistake alone": "/benchmark http"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, goodConfig)
			id := w.comment("writer", "/benchmark http\n/benchmark htpt")
			w.said("htpt")
			w.edit("writer", id, to)
			if said := w.said("no longer asked for"); strings.Contains(said, "htpt") {
				t.Errorf("the reply still speaks of the mistake: %s", said)
			}
			if n := len(w.jobs()); n != 1 {
				t.Errorf("%d jobs, want the one of the good command", n)
			}
		})
	}
}

func TestAnEditOfACommandThatHadNoReplyGetsNone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, goodConfig)
	id := w.comment("writer", "/benchmark http")
	w.edit("writer", id, "Done with it.")
	w.onlyJob()
}
