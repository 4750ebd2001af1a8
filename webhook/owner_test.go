package webhook

import (
	"strings"
	"testing"

	"github.com/prbench/prbench/internal/forgetest"
	"github.com/prbench/prbench/internal/job"
)

// two are a job that waits and one that has ended.
func (w *world) two() (waits, ended job.Job) {
	w.t.Helper()
	w.comment("writer", "/benchmark http")
	w.ended(w.onlyJob())
	w.comment("writer", "/benchmark strings")
	jobs := w.jobs()
	if len(jobs) != 2 {
		w.t.Fatalf("%d jobs, want 2; replies %q", len(jobs), w.replies())
	}
	return jobs[1], jobs[0]
}

func TestTheJobsOfARenamedRepositoryAreUnderItsNewName(t *testing.T) {
	t.Parallel()
	w := newWorld(t, goodConfig)
	before, _ := w.two()
	w.ok(w.Rename("writer", w.repo, "motor"))
	w.settle()
	for _, j := range w.jobs() {
		if r := j.Repository; r.FullName() != "acme/motor" || r.ID != w.repo.ID || !strings.HasSuffix(r.CloneURL, "/acme/motor.git") {
			t.Errorf("job %s is of %+v", j.ID, r)
		}
	}
	if now := w.jobs()[0]; now.State != job.Done {
		t.Errorf("the job that had ended is %s", now.State)
	}
	// What people see is the same.
	if now := w.jobs()[1]; now.State != job.Queued || now.Revision != before.Revision {
		t.Errorf("the job that waits is %s, revision %d, and was %d", now.State, now.Revision, before.Revision)
	}
}

func TestARepositoryThatBecomesPrivateIsPrivateInAllItsJobs(t *testing.T) {
	t.Parallel()
	w := newWorld(t, goodConfig)
	w.two()
	w.ok(w.SetPrivate("writer", w.repo, true))
	w.settle()
	for _, j := range w.jobs() {
		if !j.Repository.Private {
			t.Errorf("job %s is of a public repository", j.ID)
		}
	}
}

func TestATransferToAnOwnerWithTheAppGoesOnThere(t *testing.T) {
	t.Parallel()
	w := newWorld(t, goodConfig)
	w.two()
	_, err := w.AddOrg("bolt")
	w.ok(err)
	there, err := w.Install(w.app, "bolt")
	w.ok(err)
	w.settle()
	w.ok(w.Transfer("writer", w.repo, "bolt"))
	w.settle()
	for _, j := range w.jobs() {
		if j.Repository.FullName() != "bolt/engine" || j.Installation != there.ID {
			t.Errorf("job %s is of %s and installation %d", j.ID, j.Repository.FullName(), j.Installation)
		}
	}
	if j := w.jobs()[1]; j.State != job.Queued {
		t.Errorf("the job that waits is %s: %+v", j.State, j.Cancel)
	}
}

func TestWhatNobodyCanBeToldOfIsTakenBack(t *testing.T) {
	t.Parallel()
	for name, happens := range map[string]func(*world) error{
		"a transfer to an owner without the App": func(w *world) error {
			if _, err := w.AddOrg("bolt"); err != nil {
				return err
			}
			return w.Transfer("writer", w.repo, "bolt")
		},
		"a deleted repository":  func(w *world) error { return w.DeleteRepo("writer", w.repo) },
		"an archived one":       func(w *world) error { return w.Archive("writer", w.repo, true) },
		"an App taken off it":   func(w *world) error { return w.SelectRepos("writer", w.inst, nil, []*forgetest.Repo{w.repo}) },
		"an App taken off acme": func(w *world) error { return w.Uninstall("writer", w.inst) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, goodConfig)
			w.two()
			w.ok(happens(w))
			w.settle()
			ended, waits := w.jobs()[0], w.jobs()[1]
			if waits.State != job.Cancelled || waits.Cancel == nil || waits.Cancel.Reason == "" {
				t.Errorf("the job that waits is %s: %+v", waits.State, waits.Cancel)
			}
			if ended.State != job.Done || ended.Cancel != nil {
				t.Errorf("the job that had ended is %s: %+v", ended.State, ended.Cancel)
			}
		})
	}
}

func TestWhileAnInstallationIsSuspendedItsJobsAreHeld(t *testing.T) {
	t.Parallel()
	w := newWorld(t, goodConfig)
	w.two()
	w.ok(w.Suspend("writer", w.inst, true))
	w.settle()
	if j := w.jobs()[1]; j.State != job.Queued || j.Held == "" {
		t.Fatalf("the job that waits is %s, held: %q", j.State, j.Held)
	}
	w.ok(w.Suspend("writer", w.inst, false))
	w.settle()
	ended, waits := w.jobs()[0], w.jobs()[1]
	if waits.State != job.Queued || waits.Held != "" || waits.Refresh != 1 {
		t.Errorf("after the suspension the job that waits is %s, held: %q, refreshed %d times", waits.State, waits.Held, waits.Refresh)
	}
	if ended.Held != "" || ended.Refresh != 0 {
		t.Errorf("the job that had ended was held: %q, %d", ended.Held, ended.Refresh)
	}
}

// The event may be lost: a start looks too.
func TestAStartFindsOutWhoHasTheAppNow(t *testing.T) {
	t.Parallel()
	w := newWorld(t, goodConfig)
	w.two()
	w.SetDeliveryMode(forgetest.DeliveryMode{Lost: true})
	w.ok(w.Suspend("writer", w.inst, true))
	w.ok(w.clerk.KnowInstallations(t.Context()))
	if j := w.jobs()[1]; j.Held == "" {
		t.Errorf("the job that waits is not held")
	}
	w.ok(w.Uninstall("writer", w.inst))
	w.ok(w.clerk.KnowInstallations(t.Context()))
	if j := w.jobs()[1]; j.State != job.Cancelled || j.Held != "" {
		t.Errorf("the job that waits is %s, held: %q", j.State, j.Held)
	}
}

func TestAnEventThatIsToldLateChangesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, goodConfig)
	w.two()
	w.SetDeliveryMode(forgetest.DeliveryMode{Lost: true})
	w.ok(w.Archive("writer", w.repo, true))
	w.ok(w.Suspend("writer", w.inst, true))
	w.ok(w.Archive("writer", w.repo, false))
	w.ok(w.Suspend("writer", w.inst, false))
	w.SetDeliveryMode(forgetest.DeliveryMode{})
	for _, d := range w.Deliveries() {
		if d.Action == "archived" || d.Action == "suspend" {
			w.ok(w.Redeliver(d.ID))
		}
	}
	w.settle()
	if j := w.jobs()[1]; j.State != job.Queued || j.Held != "" {
		t.Errorf("the job that waits is %s, held: %q, %+v", j.State, j.Held, j.Cancel)
	}
}
