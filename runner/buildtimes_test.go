package runner_test

import (
	"context"
	"sync"
	"testing"

	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/internal/queue"
	"github.com/prbench/prbench/runner"
)

// hears is a connection that remembers the progress of builds.
type hears struct {
	runner.Conn
	mu    sync.Mutex
	heard map[job.ID]map[job.Phase]job.Progress // the last of each
}

func (h *hears) Beat(ctx context.Context, id job.ID, try int, p job.Progress) (queue.BeatAnswer, error) {
	h.mu.Lock()
	if h.heard[id] == nil {
		h.heard[id] = map[job.Phase]job.Progress{}
	}
	h.heard[id][p.Phase] = p
	h.mu.Unlock()
	return h.Conn.Beat(ctx, id, try, p)
}

func (h *hears) of(id job.ID, phase job.Phase) job.Progress {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.heard[id][phase]
}

func TestABuildTellsHowLongItHasTakenAndWhatTheLastOneTook(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string]string{"build.sh": "#!/bin/sh\nset -e\nsleep 1\nprintf '#!/bin/sh\\necho \"$1 n=1: 1\"\\n' > run\nchmod +x run\n"}, nil)
	h := &hears{Conn: w.opts.Conn, heard: map[job.ID]map[job.Phase]job.Progress{}}
	w.opts.Conn = h
	w.opts.CacheLimit = -1 // each base is built
	w.start(w.opts)
	first, second := w.create(spec()).ID, w.create(spec()).ID
	for _, id := range []job.ID{first, second} {
		if j := w.wait(id, "ends", ended); j.Outcome.Kind != job.Measured {
			t.Fatalf("%+v", j.Outcome)
		}
	}
	if p := h.of(first, job.PhaseBuildBase); p.Spent <= 0 || p.PhaseLeft != 0 {
		t.Errorf("the first build of all: %+v", p)
	}
	// What is left is what the last one took, less what has passed.
	if p := h.of(first, job.PhaseBuildHead); p.Spent <= 0 || p.PhaseLeft+p.Spent < job.Duration(1e9) {
		t.Errorf("the head's, after its base's: %+v", p)
	}
	if p := h.of(second, job.PhaseBuildBase); p.Spent <= 0 || p.PhaseLeft+p.Spent < job.Duration(1e9) {
		t.Errorf("the next job's: %+v", p)
	}
}
