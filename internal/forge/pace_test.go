package forge_test

import (
	"sync"
	"testing"
	"time"

	"github.com/prbench/prbench/internal/forge"
)

func (c *handClock) total() time.Duration {
	var sum time.Duration
	for _, d := range c.slept() {
		sum += d
	}
	return sum
}

func TestAnHoursMutationsStayWithinGitHubsLimit(t *testing.T) {
	r := newReplay(t, recorded{Status: 201, Body: said("")})
	for range 501 {
		if err := r.post(); err != nil {
			t.Fatal(err)
		}
	}
	if got := r.clock.total(); got != time.Hour {
		t.Fatalf("501 comments took %v, want an hour", got)
	}
}

func TestProgressGivesWay(t *testing.T) {
	r := newReplay(t, recorded{Status: 200, Body: said("")})
	progress := forge.AsProgress(t.Context())
	update := func() forge.Kind {
		return forge.Classify(r.UpdateCheckRun(progress, engine, 1, forge.CheckRun{Name: "prbench", Title: "40 %", Summary: "-"})).Kind
	}
	if got := update(); got != "" {
		t.Fatalf("the first progress is %q", got)
	}
	if got := update(); got != forge.Dropped {
		t.Fatalf("progress that would have to wait is %q", got)
	}
	if got := len(r.clock.slept()); got != 0 {
		t.Fatal("progress made somebody wait")
	}
	for range 400 {
		if err := r.post(); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.clock.Sleep(t.Context(), time.Minute); err != nil {
		t.Fatal(err)
	}
	if got := update(); got != forge.Dropped {
		t.Fatalf("progress in a busy hour is %q", got)
	}
	if err := r.post(); err != nil {
		t.Fatalf("a report in a busy hour: %v", err)
	}
}

func TestCallersLeaveOneAfterAnother(t *testing.T) {
	r := newReplay(t, recorded{Status: 201, Body: said("")})
	begin := r.clock.Now()
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			if err := r.post(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got := r.clock.Now().Sub(begin); got < 9*time.Second {
		t.Fatalf("ten mutations took %v", got)
	}
}
