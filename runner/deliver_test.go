package runner_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/internal/queue"
	"github.com/prbench/prbench/runner"
	"github.com/prbench/prbench/runner/sandbox"
)

// hangs is a connection that never answers one of its requests.
type hangs struct {
	runner.Conn
	at      string
	reached chan struct{} // closed when it is asked
	once    sync.Once
}

func (h *hangs) hang(ctx context.Context, at string) bool {
	if h.at != at {
		return false
	}
	h.once.Do(func() { close(h.reached) })
	<-ctx.Done()
	return true
}

func (h *hangs) Publish(ctx context.Context, id job.ID, try int, r job.Run) error {
	if h.hang(ctx, "publish") {
		return context.Cause(ctx)
	}
	return h.Conn.Publish(ctx, id, try, r)
}

func (h *hangs) Done(ctx context.Context, id job.ID, try int, o job.Outcome) error {
	if h.hang(ctx, "done") {
		return context.Cause(ctx)
	}
	return h.Conn.Done(ctx, id, try, o)
}

// leftDelivering stops a runner that has measured a job and does not come to
// deliver it.
func (w *world) leftDelivering(at string, j job.Job) job.Job {
	w.t.Helper()
	conn := &hangs{Conn: w.conn, at: at, reached: make(chan struct{})}
	o := w.opts
	o.Conn, o.LookGrace, o.StopGrace = conn, 1, 1
	stop := w.start(o)
	<-conn.reached
	w.wait(j.ID, "is delivered", func(j job.Job) bool { return j.Progress.Phase == job.PhaseDeliver })
	stop()
	j, err := w.q.Get(w.t.Context(), j.ID)
	if err != nil || j.State != job.Running {
		w.t.Fatalf("the job is %s, %v", j.State, err)
	}
	return j
}

func TestWhatWasMeasuredIsDeliveredByTheNextTryWhereTheRunnerWasStoppedBefore(t *testing.T) {
	for name, at := range map[string]string{"in its records": "publish", "in its end": "done"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, nil, nil)
			s := spec()
			s.Runs = 10
			j := w.leftDelivering(at, w.create(s))
			for _, side := range []string{"old", "new"} {
				if _, err := os.Stat(filepath.Join(w.folder(j), side)); err != nil {
					t.Errorf("what the job goes on with is not whole: %v", err)
				}
			}
			stop := w.start(w.opts)
			j = w.wait(j.ID, "ends", ended)
			if o := j.Outcome; o.Kind != job.Measured || j.Try != 2 || o.Side != "" || !strings.Contains(strings.Join(o.Notes, "\n"), "stopped after 20 of the runs") {
				t.Errorf("try %d: %+v", j.Try, o)
			}
			w.inPairs(j, 10)
			if n := strings.Count(w.log.String(), `phase="build base"`); n != 1 {
				t.Errorf("the base was built %d times", n)
			}
			w.goesOn(spec())
			if !strings.Contains(w.log.String(), "the base was built before") {
				t.Error("the base was not kept in the end")
			}
			stop()
			w.nothingLeft()
		})
	}
}

func TestABackportIsDeliveredByTheNextTryToo(t *testing.T) {
	r, tip, sha := released(t, nil, nil)
	w := newWorldOf(t, r, tip, sha)
	j := w.leftDelivering("done", w.createOn(spec(), on(job.Pick{SHA: sha})))
	w.start(w.opts)
	j = w.wait(j.ID, "ends", ended)
	if o := j.Outcome; o.Kind != job.Measured || j.Try != 2 || o.Picked == nil || o.Picked.Kind != job.PickApplies {
		t.Errorf("try %d: %+v", j.Try, o)
	}
	w.inPairs(j, 2)
}

// tokenless is a connection to a serve that has no token at first.
type tokenless struct {
	runner.Conn
	mu   sync.Mutex
	left int // answers without a token
}

func (c *tokenless) Token(ctx context.Context, id job.ID, try int) (queue.Token, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left--; c.left >= 0 {
		return queue.Token{}, queue.ErrNoToken
	}
	return c.Conn.Token(ctx, id, try)
}

func TestAFetchThatFailsIsTriedAgainInTheSameTry(t *testing.T) {
	w := newWorld(t, nil, nil)
	w.opts.Conn = &tokenless{Conn: w.conn, left: len(w.opts.FetchPauses)}
	w.start(w.opts)
	j := w.wait(w.create(spec()).ID, "ends", ended)
	if j.Outcome.Kind != job.Measured || j.Try != 1 {
		t.Errorf("try %d, lost %q: %+v", j.Try, j.LostTries, j.Outcome)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.revoked) != 1 {
		t.Errorf("%d tokens were revoked", len(w.revoked))
	}
}

// counts is a connection that counts the claims.
type counts struct {
	runner.Conn
	mu     sync.Mutex
	claims int
}

func (c *counts) Claim(ctx context.Context, r queue.ClaimRequest) (*queue.Lease, error) {
	c.mu.Lock()
	c.claims++
	c.mu.Unlock()
	return c.Conn.Claim(ctx, r)
}

func TestARunnerWhoseMachineIsBrokenTakesNoJobsUntilItIsMended(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil, nil)
	real, err := os.ReadFile("/usr/bin/bwrap")
	if err != nil {
		t.Fatal(err)
	}
	bwrap := filepath.Join(filepath.Dir(w.opts.Work), "bwrap")
	install := func() error {
		return errors.Join(os.WriteFile(bwrap+".new", real, 0o755), os.Rename(bwrap+".new", bwrap))
	}
	if err := install(); err != nil {
		t.Fatal(err)
	}
	w.opts.Sandbox = box(t, sandbox.Config{Bwrap: bwrap})
	conn := &counts{Conn: w.conn}
	w.opts.Conn = conn
	if err := os.Remove(bwrap); err != nil {
		t.Fatal(err)
	}
	w.start(w.opts)
	waiting := []job.ID{w.create(spec()).ID, w.create(spec()).ID, w.create(spec()).ID}
	w.until("the runner says that it cannot work", func() bool {
		return strings.Count(w.log.String(), "this machine cannot run jobs") > 3
	})
	conn.mu.Lock()
	claims := conn.claims
	conn.mu.Unlock()
	lost := 0
	for _, id := range waiting {
		j, err := w.q.Get(t.Context(), id)
		if err != nil || j.State != job.Queued {
			t.Errorf("job %s is %s, %v", id, j.State, err)
		}
		lost += len(j.LostTries)
	}
	if lost != 2 || claims < 2 {
		t.Errorf("%d tries were lost in %d claims", lost, claims)
	}
	if err := install(); err != nil {
		t.Fatal(err)
	}
	for _, id := range waiting {
		if j := w.wait(id, "ends", ended); j.Outcome.Kind != job.Measured {
			t.Errorf("%+v", j.Outcome)
		}
	}
	if !strings.Contains(w.log.String(), "this machine can run jobs again") {
		t.Error("nothing says that the machine is mended")
	}
}

func TestARunnerThatFailsTwiceInARowRestsThoughItsMachineIsWell(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil, nil)
	w.opts.Conn = &tokenless{Conn: w.conn, left: 2 * (len(w.opts.FetchPauses) + 1)}
	w.start(w.opts)
	if j := w.wait(w.create(spec()).ID, "ends", ended); j.Outcome.Kind != job.Measured || j.Try != 3 {
		t.Errorf("try %d, lost %q: %+v", j.Try, j.LostTries, j.Outcome)
	}
	if n := strings.Count(w.log.String(), "tries failed one after the other"); n != 1 {
		t.Errorf("the runner has rested %d times", n)
	}
}
