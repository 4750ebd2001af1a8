package queue

import (
	"slices"
	"testing"

	"github.com/prbench/prbench/internal/job"
)

func TestTheIndexPassesOverWhatIsOlder(t *testing.T) {
	x := newIndex(newClock().leases())
	j := wish(1, 1, "k")
	j.ID, j.State, j.Try = "1.1.1", job.Running, 1
	x.apply(j, 5)
	j.State = job.Queued
	x.apply(j, 4)
	if _, ok := x.next("default", "UA", Limits{}, nil); ok {
		t.Error("an old record came back")
	}
	x.apply(j, 6)
	if got, ok := x.next("default", "UA", Limits{}, nil); !ok || got.ID != j.ID {
		t.Errorf("next: %v, %v", got.ID, ok)
	}
	j.State, j.Try = job.Running, 2
	x.apply(j, 7)
	j.Progress.Done = 3
	x.apply(j, 8)
	if x.jobs[j.ID].claimed != 7 {
		t.Errorf("a beat moved the claim to %d", x.jobs[j.ID].claimed)
	}
	other := j
	other.ID = "1.2.1"
	// Claimed before ours: ours is one too many. Claimed after: the other is.
	for claimed, want := range map[uint64]bool{6: true, 9: false} {
		y := newIndex(newClock().leases())
		y.apply(j, 8)
		y.apply(other, claimed)
		if got := y.overrun(j, 8, Limits{PerPerson: 1}); got != want {
			t.Errorf("another claim at %d, ours at 8: overrun %v", claimed, got)
		}
	}
	if ids := x.find(func(j job.Job) bool { return j.Try == 2 }); len(ids) != 1 || !slices.Equal(ids[0].Notes, j.Notes) {
		t.Errorf("find: %v", ids)
	}
}
