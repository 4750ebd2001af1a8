package webhook

import (
	"strings"
	"testing"
	"time"

	"github.com/prbench/prbench/internal/job"
)

// late handles what was delivered once more, as a second hook or a redelivery
// long after tells it.
func (w *world) late(action string, pick func(job.Event) bool) {
	w.t.Helper()
	for _, d := range w.Deliveries() {
		if d.Event != "pull_request" || d.Action != action {
			continue
		}
		e, acts, err := Reduce(d.Event, "00000000-0000-4000-8000-000000000777", time.Now(), d.Payload)
		w.ok(err)
		if acts && pick(e) {
			w.ok(w.clerk.Handle(w.t.Context(), e))
			return
		}
	}
	w.t.Fatalf("no %s was delivered", action)
}

func anyOf(job.Event) bool { return true }

func TestAPushThatIsToldLateLeavesTheJobsAndTheLabelOfTheNewerHead(t *testing.T) {
	t.Parallel()
	w := newWorld(t, goodConfig)
	first := w.push("one\n")
	w.settle()
	second := w.push("two\n")
	w.settle()
	w.label("writer", "benchmark")
	w.late("synchronize", func(e job.Event) bool { return e.HeadSHA == first })
	if j := w.onlyJob(); j.Head.SHA != second || j.State != job.Queued || j.Outdated {
		t.Errorf("job %+v", j)
	}
	if labels := w.Conversation(w.pull).Labels; len(labels) != 1 {
		t.Errorf("labels %q", labels)
	}
	if since, told, err := w.clerk.headSince(t.Context(), w.repo.ID, w.pull.Number, second); err != nil || !told || since.IsZero() {
		t.Errorf("the newest head is forgotten: %v, %v", told, err)
	}
}

func TestACloseAndAnUnlabelThatAreToldLateTakeNothingBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t, goodConfig)
	w.label("writer", "benchmark")
	w.ok(w.RemoveLabel("writer", w.pull, "benchmark"))
	w.ok(w.ClosePull("contributor", w.pull))
	w.settle()
	w.later()
	w.ok(w.ReopenPull("contributor", w.pull))
	w.settle()
	w.label("writer", "benchmark")
	w.late("closed", anyOf)
	w.late("unlabeled", anyOf)
	if jobs := w.jobs(); len(jobs) != 2 || jobs[1].State != job.Queued {
		t.Errorf("jobs %+v", jobs)
	}
}

func TestALabelThatIsToldLateIsRefusedOnceTheHeadHasMovedAndIsNothingOnceItIsOff(t *testing.T) {
	t.Parallel()
	w := newWorld(t, goodConfig)
	w.label("writer", "benchmark")
	old := w.onlyJob().Head.SHA
	now := w.push("other\n")
	w.settle()
	w.late("labeled", anyOf) // the push took it off
	if jobs, said := w.jobs(), w.replies(); len(jobs) != 1 || len(said) != 0 {
		t.Errorf("%d jobs, replies %q", len(jobs), said)
	}
	w.label("writer", "benchmark")
	w.late("labeled", func(e job.Event) bool { return e.HeadSHA == old })
	if jobs := w.jobs(); len(jobs) != 2 || jobs[1].Head.SHA != now {
		t.Errorf("jobs %+v", jobs)
	}
	if said := w.said("newer head"); !strings.Contains(said, old[:10]) || !strings.Contains(said, now[:10]) {
		t.Errorf("reply %s", said)
	}
	if labels := w.Conversation(w.pull).Labels; len(labels) != 1 {
		t.Errorf("labels %q", labels)
	}
}
