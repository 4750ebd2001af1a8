package measure_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/runner/measure"
	"github.com/prbench/prbench/runner/sandbox"
)

// watched is a real sandbox that counts the processes that are made ready, run
// and given up.
type watched struct {
	*sandbox.Sandbox
	ahead bool // what Ahead says

	mu                 sync.Mutex
	made, ran, givenUp int
	running            bool
	during, most       int // made while another one ran; most that waited at once
}

func (w *watched) Ahead() bool { return w.ahead }

func (w *watched) Prepare(ctx context.Context, c sandbox.Command) (sandbox.Held, error) {
	h, err := w.Sandbox.Prepare(ctx, c)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.made++
	w.most = max(w.most, w.made-w.ran-w.givenUp)
	if w.running {
		w.during++
	}
	return &watchedHeld{Held: h, w: w}, nil
}

type watchedHeld struct {
	sandbox.Held
	w    *watched
	over bool
}

func (h *watchedHeld) Run(ctx context.Context) (sandbox.Outcome, error) {
	h.w.mu.Lock()
	h.over, h.w.running = true, true
	h.w.ran++
	h.w.mu.Unlock()
	defer func() {
		h.w.mu.Lock()
		h.w.running = false
		h.w.mu.Unlock()
	}()
	return h.Held.Run(ctx)
}

func (h *watchedHeld) Discard() error {
	h.w.mu.Lock()
	if !h.over {
		h.over = true
		h.w.givenUp++
	}
	h.w.mu.Unlock()
	return h.Held.Discard()
}

// bothWays runs a test where the next sandbox may be made while a process runs,
// and where it may not.
func bothWays(t *testing.T, test func(t *testing.T, w *watched)) {
	for _, ahead := range []bool{false, true} {
		t.Run(fmt.Sprintf("made ahead: %t", ahead), func(t *testing.T) {
			w := &watched{Sandbox: bubblewrap(t), ahead: ahead}
			test(t, w)
			if w.made != w.ran+w.givenUp {
				t.Errorf("%d processes were made ready, %d run, %d given up", w.made, w.ran, w.givenUp)
			}
		})
	}
}

func TestSandboxesAreMadeAheadOnlyWhereThatDisturbsNobody(t *testing.T) {
	bothWays(t, func(t *testing.T, w *watched) {
		slow := "#!/bin/sh\nsleep 0.1\necho \"$2 n=1: 5\"\n" // long enough to make a sandbox meanwhile
		b := newBench(t, map[string]string{"run.sh": slow, "bench/a.js": "", "bench/b.js": "", "new:bench/c.js": ""}, byCase)
		b.Exec, b.Spec.Runs = w, 4
		if o := b.run(t); o.Kind != job.Measured || w.ran != len(b.runs) || w.givenUp != 0 {
			t.Fatalf("%+v; %d records of %d runs, %d given up", o, len(b.runs), w.ran, w.givenUp)
		}
		if w.ahead && (w.during < w.ran/2 || w.most > 2) || !w.ahead && (w.during != 0 || w.most != 2) {
			t.Errorf("of %d, %d were made while another one ran; %d waited at once", w.made, w.during, w.most)
		}
		seen := map[string]bool{}
		for _, r := range b.runs {
			what := fmt.Sprint(r.Case, r.Pair, r.Side)
			if seen[what] || r.Position == 1 && !seen[fmt.Sprint(r.Case, r.Pair, r.Side.Other())] {
				t.Errorf("%s at %d is out of order", what, r.Position)
			}
			seen[what] = true
		}
	})
}

func TestAProcessThatWasMadeReadyForNothingIsGivenUp(t *testing.T) {
	bothWays(t, func(t *testing.T, w *watched) {
		b := newBench(t, map[string]string{"run.sh": "#!/bin/sh\nsleep 0.1; exit 3\n", "bench/a.js": ""}, byCase)
		b.Exec, b.Spec.Runs = w, 10
		if o := b.run(t); o.Kind != job.NothingMeasured || w.ran != 6 {
			t.Errorf("%+v, %d runs", o, w.ran)
		}
		// The case ended with its third pair, when its fourth was expected.
		if w.ahead != (w.givenUp == 1) {
			t.Errorf("%d given up", w.givenUp)
		}
	})
}

func TestACancelledMeasuringLeavesNoProcessThatWaits(t *testing.T) {
	bothWays(t, func(t *testing.T, w *watched) {
		b := newBench(t, map[string]string{"run.sh": says("1"), "bench/a.js": "", "bench/b.js": ""}, byCase)
		ctx, cancel := context.WithCancelCause(t.Context())
		b.Exec, b.Spec.Runs = w, 10
		b.Sink = func(r job.Run) error {
			cancel(errors.New("cancelled by a person"))
			b.runs = append(b.runs, r)
			return nil
		}
		o, err := measure.Run(ctx, b.Options)
		if err != nil || o.Kind != job.Stopped || len(b.runs) != 1 {
			t.Errorf("%+v, %v, %d runs", o, err, len(b.runs))
		}
	})
}
