package runner_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prbench/prbench/internal/forgetest"
	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/internal/queue"
	"github.com/prbench/prbench/runner"
	"github.com/prbench/prbench/runner/sandbox"
)

// box is a sandbox with limits.
func box(t *testing.T, cfg sandbox.Config) *sandbox.Sandbox {
	t.Helper()
	cfg.Kind = sandbox.Bubblewrap
	if os.Geteuid() == 0 {
		cfg.User = "nobody"
	}
	s, err := sandbox.New(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// never is how long a runner rests that takes jobs for a disk that stays full.
var never = []time.Duration{}

// goesOn does one more job, a good one.
func (w *world) goesOn(s job.Spec) {
	w.t.Helper()
	if j := w.wait(w.create(s).ID, "ends", ended); j.Outcome.Kind != job.Measured {
		w.t.Errorf("the next job: %+v", j.Outcome)
	}
}

func TestAFaultOfTheMachineIsTriedThreeTimesThenToldAndTheQueueGoesOn(t *testing.T) {
	unbuilt := spec()
	unbuilt.Build.Run = ""
	for name, c := range map[string]struct {
		box   sandbox.Config
		base  map[string]string
		rests []time.Duration
		spec  func() job.Spec
		text  string
	}{
		"the disk is full while it builds": {
			box:   sandbox.Config{KeepFree: 1 << 60},
			base:  map[string]string{"build.sh": "#!/bin/sh\nsleep 3600\n", "run": "#!/bin/sh\necho \"$1 n=1: 1\"\n"},
			rests: never, spec: spec, text: "build the base: the disk of this machine is nearly full",
		},
		"a port is taken": {
			base:  map[string]string{"run": "#!/bin/sh\necho 'Error: listen EADDRINUSE: address already in use :::12346' >&2; [ \"$1\" != x ]\n"},
			rests: []time.Duration{time.Millisecond},
			spec: func() job.Spec {
				s := unbuilt
				s.Suites = []job.Suite{{Name: "s", Format: job.FormatNode, Command: "./run x"}}
				return s
			},
			text: "s on the ",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, c.base, nil)
			w.opts.Sandbox, w.opts.Rests = box(t, c.box), c.rests
			w.start(w.opts)
			j := w.wait(w.create(c.spec()).ID, "ends", ended)
			if j.Outcome.Kind != job.Fault || j.Try != job.MaxTries || len(j.LostTries) != job.MaxTries || !strings.Contains(j.Outcome.Text, c.text) {
				t.Errorf("try %d, lost %q: %+v", j.Try, j.LostTries, j.Outcome)
			}
			if name == "a port is taken" && (j.Outcome.Clash == nil || j.Outcome.Clash.Case != "s" || !strings.Contains(j.Outcome.Text, "found its port taken") || !strings.Contains(j.Outcome.Log, "EADDRINUSE")) {
				t.Errorf("%+v", j.Outcome)
			}
			if name == "a port is taken" && strings.Contains(w.log.String(), "tries failed one after the other") {
				t.Error("what a benchmark printed has put the runner to rest")
			}
			good := unbuilt
			good.Suites = []job.Suite{{Name: "s", Format: job.FormatNode, Command: "/bin/echo y n=1: 1"}}
			w.goesOn(good)
		})
	}
}

// The base listens once, the head twice.
func TestAHeadThatTakesItsOwnPortIsToldSoAfterThreeTries(t *testing.T) {
	t.Parallel()
	binds := func(times string) map[string]string {
		return map[string]string{"run": "#!/bin/sh\nexec node server.js\n", "server.js": "const net = require('node:net');\n" +
			"let left = " + times + ";\nconst next = () => left-- > 0 ? net.createServer().listen(12346, '127.0.0.1', next) : (console.log('x n=1: 1'), process.exit(0));\nnext();\n"}
	}
	w := newWorld(t, binds("1"), binds("2"))
	w.start(w.opts)
	s := spec()
	s.Build.Run, s.Suites = "", []job.Suite{{Name: "s", Format: job.FormatNode, Command: "./run"}}
	j := w.wait(w.create(s).ID, "ends", ended)
	if j.Outcome.Kind != job.Fault || j.Try != job.MaxTries || !j.Outcome.Clash.EachTry() || j.Outcome.Clash.Side != job.New || !strings.Contains(j.Outcome.Log, "EADDRINUSE") {
		t.Errorf("try %d, lost %q: %+v", j.Try, j.LostTries, j.Outcome)
	}
}

func TestABuildThatFindsTheDiskFullHasTheCachesMakeRoom(t *testing.T) {
	w := newWorld(t, nil, nil)
	stop := w.start(w.opts)
	w.goesOn(spec())
	stop()
	kept := func() int {
		n := 0
		for _, dir := range []string{"bases", "mirrors"} {
			entries, err := os.ReadDir(filepath.Join(w.opts.Work, dir))
			if err != nil {
				t.Fatal(err)
			}
			n += len(entries)
		}
		return n
	}
	if kept() != 2 {
		t.Errorf("%d things are kept of a job, want its base and its mirror", kept())
	}
	full := w.opts
	full.Sandbox, full.Rests = box(t, sandbox.Config{KeepFree: 1 << 60}), never
	stop = w.start(full)
	s := spec()
	s.Build.Run = "sleep 3600"
	w.wait(w.create(s).ID, "ends", ended)
	stop()
	if kept() != 0 {
		t.Errorf("%d things are kept on a full disk", kept())
	}
}

// stalls is a connection that stands still, once, at one of its requests, until
// the runner has heard that its job is cancelled.
type stalls struct {
	runner.Conn
	at          string
	reached     chan struct{} // closed when it stands still
	heard       chan struct{} // closed when the runner has been told
	stall, tell sync.Once
}

func newStalls(conn runner.Conn, at string) *stalls {
	return &stalls{Conn: conn, at: at, reached: make(chan struct{}), heard: make(chan struct{})}
}

// stand tells whether the request has ended with its context.
func (s *stalls) stand(ctx context.Context, at string) (ended bool) {
	if s.at != at {
		return false
	}
	s.stall.Do(func() {
		close(s.reached)
		select {
		case <-s.heard:
		case <-ctx.Done():
		}
		ended = ctx.Err() != nil
	})
	return ended
}

func (s *stalls) Token(ctx context.Context, id job.ID, try int) (queue.Token, error) {
	if s.stand(ctx, "token") {
		return queue.Token{}, ctx.Err()
	}
	return s.Conn.Token(ctx, id, try)
}

func (s *stalls) Fetched(ctx context.Context, id job.ID, try int) error {
	if s.stand(ctx, "fetched") {
		return ctx.Err()
	}
	return s.Conn.Fetched(ctx, id, try)
}

func (s *stalls) Publish(ctx context.Context, id job.ID, try int, r job.Run) error {
	if s.stand(ctx, "publish") {
		return ctx.Err()
	}
	return s.Conn.Publish(ctx, id, try, r)
}

func (s *stalls) Done(ctx context.Context, id job.ID, try int, o job.Outcome) error {
	if s.stand(ctx, "done") {
		return ctx.Err()
	}
	return s.Conn.Done(ctx, id, try, o)
}

func (s *stalls) Beat(ctx context.Context, id job.ID, try int, p job.Progress) (queue.BeatAnswer, error) {
	a, err := s.Conn.Beat(ctx, id, try, p)
	if err == nil && a.Cancel != nil {
		s.tell.Do(func() { close(s.heard) })
	}
	return a, err
}

func at(p job.Phase) func(job.Job) bool {
	return func(j job.Job) bool { return j.State == job.Running && j.Progress.Phase == p }
}

func TestAJobIsCancelledInWhateverItIsAt(t *testing.T) {
	t.Parallel()
	sleeps := func(s job.Spec) job.Spec { s.Build.Run = "sleep 3600"; return s }
	const fetches = "/acme/thing.git/**"
	for name, c := range map[string]struct {
		spec  job.Spec
		stall string
		hangs bool // the forge does, when it is fetched from
		at    func(job.Job) bool
	}{
		"when the fetch begins":    {spec: spec(), stall: "token", at: at(job.PhaseFetch)},
		"in the fetch":             {spec: spec(), hangs: true, at: at(job.PhaseFetch)},
		"when the fetch has ended": {spec: spec(), stall: "fetched", at: at(job.PhaseFetch)},
		"in the base's build":      {spec: sleeps(spec()), at: at(job.PhaseBuildBase)},
		"in the head's build":      {spec: func() job.Spec { s := spec(); s.Build.Run = "[ ! -e slow ] || sleep 3600"; return s }(), at: at(job.PhaseBuildHead)},
		"in the measuring":         {spec: slow(), at: measuring},
		"in a benchmark that hangs": {spec: func() job.Spec {
			s := spec()
			s.Suites[0].Command = "sleep 3600"
			return s
		}(), at: at(job.PhaseMeasure)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, nil, map[string]string{"slow": ""})
			conn := newStalls(w.conn, c.stall)
			w.opts.Conn = conn
			if c.hangs {
				w.forge.Fail(forgetest.Fault{Path: fetches, Delay: time.Hour})
			}
			stop := w.start(w.opts)
			id := w.create(c.spec).ID
			w.wait(id, "is there", c.at)
			if c.stall != "" {
				<-conn.reached
			}
			if c.hangs {
				w.until("the forge is asked for the commits", func() bool { return len(w.forge.RequestsTo("", fetches)) > 0 })
			}
			w.cancel(id)
			j := w.wait(id, "ends", ended)
			if j.Outcome.Kind != job.Stopped || !strings.Contains(j.Outcome.Text, "cancelled by ann") || len(j.LostTries) != 0 {
				t.Errorf("lost %q: %+v", j.LostTries, j.Outcome)
			}
			w.goesOn(spec())
			stop()
			w.nothingLeft()
		})
	}
}

func (w *world) cancel(id job.ID) {
	w.t.Helper()
	if _, err := w.q.Cancel(w.t.Context(), id, job.Cancel{By: "ann"}); err != nil {
		w.t.Fatal(err)
	}
}

func TestAJobThatIsCancelledWhileItWaitsIsNeverBegun(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil, nil)
	id := w.create(spec()).ID
	w.cancel(id)
	w.start(w.opts)
	w.goesOn(spec())
	if j, err := w.q.Get(t.Context(), id); err != nil || j.State != job.Cancelled || j.Try != 0 {
		t.Errorf("the job is %s in its try %d, %v", j.State, j.Try, err)
	}
}

// Nothing is left to be stopped then: what was measured is whole, and is
// delivered.
func TestAJobThatIsCancelledWhileItIsDeliveredEndsAsOneThatWasNot(t *testing.T) {
	t.Parallel()
	for name, stall := range map[string]string{"its records": "publish", "its end": "done"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, nil, nil)
			conn := newStalls(w.conn, stall)
			w.opts.Conn = conn
			stop := w.start(w.opts)
			id := w.create(spec()).ID
			<-conn.reached
			w.wait(id, "delivers", at(job.PhaseDeliver))
			w.cancel(id)
			j := w.wait(id, "ends", ended)
			if j.Outcome.Kind != job.Measured || j.Try != 1 || len(j.LostTries) != 0 {
				t.Errorf("try %d, lost %q: %+v", j.Try, j.LostTries, j.Outcome)
			}
			w.inPairs(j, 2)
			w.goesOn(spec())
			if again, err := w.q.Get(t.Context(), id); err != nil || again.Revision != j.Revision {
				t.Errorf("the record of the ended job has changed from revision %d to %d, %v", j.Revision, again.Revision, err)
			}
			stop()
			w.nothingLeft()
		})
	}
}

func TestAJobThatWentOnIsCancelledAndKeepsWhatBothTriesHaveMeasured(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil, nil)
	j := w.interrupted(slow())
	conn := newStalls(w.conn, "publish") // of what the first try has measured
	w.opts.Conn = conn
	stop := w.start(w.opts)
	<-conn.reached
	w.cancel(j.ID)
	j = w.wait(j.ID, "ends", ended)
	if j.Outcome.Kind != job.Stopped || !strings.Contains(j.Outcome.Text, "cancelled by ann") || j.Try != 2 {
		t.Errorf("try %d: %+v", j.Try, j.Outcome)
	}
	if n := len(w.runs(j)); n != j.Outcome.Runs || n < 2 {
		t.Errorf("%d records are there, the outcome counts %d", n, j.Outcome.Runs)
	}
	w.goesOn(spec())
	stop()
	w.nothingLeft()
}

// cut is a connection through which no records and no ends go while it is shut.
type cut struct {
	runner.Conn
	open chan struct{}
}

func (c *cut) Publish(ctx context.Context, id job.ID, try int, r job.Run) error {
	select {
	case <-c.open:
		return c.Conn.Publish(ctx, id, try, r)
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *cut) Beat(ctx context.Context, id job.ID, try int, p job.Progress) (queue.BeatAnswer, error) {
	select {
	case <-c.open:
		return c.Conn.Beat(ctx, id, try, p)
	default:
		return queue.BeatAnswer{}, queue.ErrAway
	}
}

// The lease is the runner's by serve's clock, here of twelve minutes; a runner
// that was cut off for the whole measuring has lost nothing.
func TestARunnerThatIsCutOffMeasuresToTheEndAndDeliversLater(t *testing.T) {
	w := newWorld(t, nil, nil)
	conn := &cut{w.conn, make(chan struct{})}
	w.opts.Conn = conn
	w.start(w.opts)
	s := spec()
	s.Runs = 10
	id := w.create(s).ID
	w.until("all is measured and waits on the disk", func() bool {
		all, err := os.ReadFile(w.opts.Work + "/jobs/" + string(id) + "-1/records")
		return err == nil && strings.Count(string(all), "\n") == 20
	})
	// A second runner asks all the while.
	_, other := w.enroll("r2")
	if l, err := other.Claim(t.Context(), queue.ClaimRequest{Wait: 200 * time.Millisecond}); err != nil || l != nil {
		t.Errorf("a second runner has got %+v, %v", l, err)
	}
	if j, err := w.q.Get(t.Context(), id); err != nil || j.State != job.Running || len(w.runs(j)) != 0 {
		t.Errorf("the job is %s, %v", j.State, err)
	}
	close(conn.open)
	j := w.wait(id, "ends", ended)
	if j.Outcome.Kind != job.Measured || j.Try != 1 {
		t.Errorf("%+v", j.Outcome)
	}
	w.inPairs(j, 10)
}
