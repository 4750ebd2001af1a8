package runner

import (
	"testing"
	"testing/fstest"
	"time"

	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/runner/fitness"
)

// Of a case that only one side has, each run is the first of its pair.
func TestWhatWasSeenOfTheMachineIsKeptOnTimeWhicheverSideRan(t *testing.T) {
	kept := 0
	k := pastKeeper{watch: fitness.NewWatch(fitness.Machine{Root: fstest.MapFS{}}), keep: func(fitness.Past) { kept++ }}
	for position := range 2 {
		k.last = time.Now().Add(-pastEvery)
		k.ran(job.Run{Position: position})
		if kept != position+1 {
			t.Errorf("after a run in position %d it was kept %d times, want %d", position, kept, position+1)
		}
	}
	k.last = time.Now().Add(time.Hour)
	if k.ran(job.Run{Position: 1}); kept != 2 {
		t.Errorf("it was kept %d times, want 2", kept)
	}
}
