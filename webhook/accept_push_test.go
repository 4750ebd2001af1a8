package webhook

import (
	"testing"

	"github.com/prbench/prbench/internal/forgetest"
	"github.com/prbench/prbench/internal/job"
)

func TestAPushCancelsWhatWaitsMarksWhatRunsAndTakesTheLabelOff(t *testing.T) {
	t.Parallel()
	w := newWorld(t, goodConfig)
	w.label("writer", "benchmark")
	w.comment("writer", "/benchmark http")
	running := w.jobs()[0]
	_, err := w.store.Update(t.Context(), running.ID, func(j *job.Job) error {
		j.State, j.Try = job.Running, 1
		return nil
	})
	w.ok(err)
	w.push("other\n")
	w.settle()
	jobs := w.jobs()
	if jobs[0].State != job.Running || !jobs[0].Outdated || jobs[0].Cancel != nil {
		t.Errorf("the running job finishes, marked: %+v", jobs[0])
	}
	if jobs[1].State != job.Cancelled || jobs[1].Cancel == nil {
		t.Errorf("the waiting job is cancelled: %+v", jobs[1])
	}
	if labels := w.Conversation(w.pull).Labels; len(labels) != 0 {
		t.Errorf("labels %q", labels)
	}
	// The bot took the label off, which takes nothing back.
	w.label("writer", "benchmark")
	if jobs := w.jobs(); len(jobs) != 3 || jobs[2].Head.SHA != w.Head(w.pull) || jobs[2].Outdated || jobs[0].Cancel != nil {
		t.Errorf("after the new label: %+v", jobs)
	}
}

func TestALabelThatWasPutOnAnOlderHeadIsTakenOffWhateverBecameOfIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, goodConfig)
	w.label("triager", "benchmark") // refused, and so there is no job
	w.push("other\n")
	w.settle()
	if labels := w.Conversation(w.pull).Labels; len(labels) != 0 {
		t.Errorf("labels %q", labels)
	}
}

func TestWithKeepLabelAPushLeavesIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, goodConfig+"keep_label: true\n")
	w.label("writer", "benchmark")
	w.push("other\n")
	w.settle()
	if labels := w.Conversation(w.pull).Labels; len(labels) != 1 {
		t.Errorf("labels %q", labels)
	}
}

func TestTakingTheLabelOffCancelsItsJobAndLetsItComeAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, goodConfig)
	w.label("writer", "benchmark")
	w.comment("writer", "/benchmark http")
	w.ok(w.RemoveLabel("writer", w.pull, "benchmark"))
	w.settle()
	jobs := w.jobs()
	if jobs[0].State != job.Cancelled || jobs[1].State != job.Queued {
		t.Errorf("jobs %+v", jobs)
	}
	w.label("writer", "benchmark")
	if jobs := w.jobs(); len(jobs) != 3 || jobs[2].State != job.Queued {
		t.Errorf("jobs %+v", jobs)
	}
}

func TestHeadsThatWereThereBeforeUsAreLearnt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, goodConfig)
	w.stop()
	moved := w.push("while we were away\n")
	w.ok(w.Settle(t.Context()))
	w.start()
	w.later()
	a := &Acceptor{Hub: func(id int64) Hub { return w.forge.Installation(id) }, Store: w.store, Pools: pools, Now: w.now}
	w.ok(a.SeeInstallation(t.Context(), w.inst.ID))
	w.comment("writer", "/benchmark")
	if j := w.onlyJob(); j.Head.SHA != moved {
		t.Errorf("head %s, want %s", j.Head.SHA, moved)
	}
}

// A running job ends when its runner learns of the cancel. Until then the label
// put on again is a wish of its own, and so is one put on by an event that comes
// twice.
func TestALabelPutOnAgainWhileItsJobStopsIsANewJob(t *testing.T) {
	t.Parallel()
	w := newWorld(t, goodConfig)
	w.SetDeliveryMode(forgetest.DeliveryMode{Twice: true})
	w.label("writer", "benchmark")
	_, err := w.store.Update(t.Context(), w.onlyJob().ID, func(j *job.Job) error {
		j.State, j.Try = job.Running, 1
		return nil
	})
	w.ok(err)
	w.ok(w.RemoveLabel("writer", w.pull, "benchmark"))
	w.settle()
	if j := w.onlyJob(); j.State != job.Running || j.Cancel == nil || j.Cancel.By != "writer" {
		t.Errorf("the runner is to be told to stop: %+v", j)
	}
	w.label("writer", "benchmark")
	if jobs := w.jobs(); len(jobs) != 2 || jobs[1].State != job.Queued || jobs[1].Cancel != nil {
		t.Errorf("jobs %+v", jobs)
	}
}

func TestAStrangerCannotCancelByCommandAndAMaintainersRerunKeepsTheCommits(t *testing.T) {
	t.Parallel()
	w := newWorld(t, goodConfig)
	w.comment("writer", "/benchmark http")
	head := w.Head(w.pull)
	w.comment("stranger", "/benchmark cancel")
	if j := w.jobs()[0]; j.State != job.Queued {
		t.Errorf("the job is %s", j.State)
	}
	w.push("other\n")
	w.settle()
	w.comment("writer", "/benchmark rerun")
	if jobs := w.jobs(); len(jobs) != 2 || jobs[1].Head.SHA != head || !jobs[1].Outdated {
		t.Errorf("jobs %+v", jobs)
	}
}
