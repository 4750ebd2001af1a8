package webhook

import (
	"strings"
	"testing"

	"github.com/prbench/prbench/internal/config"
	"github.com/prbench/prbench/internal/job"
)

// limited lets so many jobs wait.
func (w *world) limited(l config.Limits) {
	w.stop()
	w.limits = l
	w.start()
	w.later()
}

func (w *world) waiting(pool string, person, repository int64) (ofPerson, ofRepository int) {
	for _, j := range w.jobs() {
		if j.State != job.Queued || j.Spec.Pool != pool {
			continue
		}
		if j.Wish.SenderID == person {
			ofPerson++
		}
		if j.Repository.ID == repository {
			ofRepository++
		}
	}
	return ofPerson, ofRepository
}

func TestWhoHasManyJobsWaitingIsToldAndGetsNoMore(t *testing.T) {
	t.Parallel()
	w := newWorld(t, goodConfig)
	w.limited(config.Limits{QueuedPerPerson: 2})
	w.comment("writer", "/benchmark strings\n\n/benchmark http\n\n/benchmark --runs 9")
	if n := len(w.jobs()); n != 2 {
		t.Errorf("%d jobs, want the 2 that may wait", n)
	}
	w.said("`/benchmark --runs 9` was not run", "`writer` has 2 jobs waiting in the pool `default` and asks for 1 more; at most 2 may wait there for one person")
	// The same wishes arrive once more.
	d := w.lastDelivery("issue_comment")
	if status, said := deliver(t, w.hook.URL, d.Payload, signed(d.Event, "00000000-0000-4000-8000-0000000000aa", d.Payload)); status != 202 {
		t.Fatalf("answered %d: %s", status, said)
	}
	w.settle()
	if n := len(w.jobs()); n != 2 {
		t.Errorf("%d jobs after the same comment again", n)
	}
	if said := w.replies(); len(said) != 1 || strings.Contains(said[0], "strings` was not run") {
		t.Errorf("after the same comment again: %q", said)
	}
	w.comment("writer", "/benchmark cancel")
	w.comment("writer", "/benchmark --runs 9")
	if n := len(w.jobs()); n != 3 {
		t.Errorf("%d jobs, want one more now that none waits", n)
	}
}

func TestARepositoryWithManyJobsWaitingIsToldAndGetsNoMore(t *testing.T) {
	t.Parallel()
	w := newWorld(t, goodConfig)
	w.ok(w.Grant(w.repo, "triager", "write"))
	w.limited(config.Limits{QueuedPerPerson: 2, QueuedPerRepository: 1})
	w.comment("writer", "/benchmark strings")
	w.comment("triager", "/benchmark http")
	if n := len(w.jobs()); n != 1 {
		t.Errorf("%d jobs, want the 1 that may wait", n)
	}
	w.said("this repository has 1 job waiting in the pool `default`, and this would be 1 more; at most 1 may wait there for one repository")
}

func TestABackportThatWouldFillTheQueueIsRefusedWhole(t *testing.T) {
	t.Parallel()
	w, _ := newLines(t, linesConfig)
	w.limited(config.Limits{QueuedPerPerson: 1})
	w.comment("writer", "/benchmark backport")
	if n := len(w.jobs()); n != 0 {
		t.Errorf("%d jobs of a backport that was refused", n)
	}
	w.said("has 0 jobs waiting in the pool `default` and asks for 3 more; at most 1 may wait")
}
