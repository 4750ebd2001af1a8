package queue

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/prbench/prbench/internal/job"
)

func TestAClockThatIsSetForwardTakesNoJobFromARunnerThatLives(t *testing.T) {
	t.Parallel()
	now := newClock()
	q := open(t, now.on)
	d := serve(t, q, &forge{})
	id := create(t, q, wish(1, 1, "k")).ID
	c := enroll(t, q, "box", "default")
	l := claim(t, c)
	now.jump(time.Hour) // before the first beat
	for range 3 {
		d.sweep(t.Context())
		if b, err := c.Beat(t.Context(), id, l.Try, job.Progress{}); err != nil || b.Lost {
			t.Fatalf("beat: %+v, %v", b, err)
		}
		now.jump(time.Hour)
	}
	now.advance(q.opts.Lease * 9 / 10)
	d.sweep(t.Context())
	if j := get(t, q, id); j.State != job.Running || j.Try != 1 {
		t.Errorf("a job whose runner lives is %s", j.State)
	}
	now.advance(q.opts.Lease)
	eventually(t, "a runner that is silent loses it all the same", func() bool { return get(t, q, id).State == job.Queued })
}

func TestAClockThatIsSetBackKeepsNoJobForARunnerThatIsDead(t *testing.T) {
	t.Parallel()
	now := newClock()
	q := open(t, now.on)
	serve(t, q, &forge{})
	id := create(t, q, wish(1, 1, "k")).ID
	c := enroll(t, q, "box", "default")
	l := claim(t, c)
	if _, err := c.Beat(t.Context(), id, l.Try, job.Progress{}); err != nil {
		t.Fatal(err)
	}
	now.jump(-24 * time.Hour)
	now.advance(q.opts.Lease + 1)
	eventually(t, "the try is lost", func() bool { return get(t, q, id).State == job.Queued })
}

// away is a store that is closed for some time and opened again where it was.
type away struct {
	t       *testing.T
	now     *clock
	dir     string
	address string
	q       *Queue
	stop    func()
}

func newAway(t *testing.T) *away {
	a := &away{t: t, now: newClock(), dir: t.TempDir(), address: "127.0.0.1:0"}
	a.open()
	a.address = strings.TrimPrefix(a.q.RunnerURL(), "nats://")
	return a
}

func (a *away) open() {
	a.t.Helper()
	a.q = open(a.t, func(o *Options) { o.Dir, o.Listen, o.Now, o.Elapsed = a.dir, a.address, a.now.now, a.now.elapsed })
	ctx, stop := context.WithCancel(a.t.Context())
	done := make(chan error, 1)
	go func() { done <- a.q.ServeRunners(ctx, (&forge{}).desk()) }()
	a.stop = func() {
		stop()
		if err := <-done; err != nil {
			a.t.Error(err)
		}
		a.q.Close()
	}
	a.t.Cleanup(stop)
}

// gone closes the store, lets something happen, and opens it again.
func (a *away) gone(meanwhile func()) {
	a.t.Helper()
	a.stop()
	meanwhile()
	a.open()
}

// beats waits until serve answers the runner, who must hold the try.
func (a *away) beats(c *RunnerConn, l *Lease) {
	a.t.Helper()
	eventually(a.t, "serve answers the runner again", func() bool {
		b, err := c.Beat(a.t.Context(), l.Job.ID, l.Try, job.Progress{})
		if err == nil && b.Lost {
			a.t.Fatal("the runner has lost its job")
		}
		return err == nil
	})
}

// nothing asks for a job for a runner who must get none.
func (a *away) nothing(c *RunnerConn) {
	a.t.Helper()
	eventually(a.t, "serve answers the second runner", func() bool {
		l, err := c.Claim(a.t.Context(), ClaimRequest{Wait: 50 * time.Millisecond})
		if l != nil {
			a.t.Fatalf("a second runner has got try %d of the job", l.Try)
		}
		return err == nil
	})
}

func TestAServeThatWasAwayForTenMinutesLeavesTheJobWithItsRunner(t *testing.T) {
	t.Parallel()
	a := newAway(t)
	id := create(t, a.q, wish(1, 1, "k")).ID
	first := enroll(t, a.q, "first", "default")
	l := claim(t, first)
	a.beats(first, l)
	second := enroll(t, a.q, "second", "default")

	a.gone(func() { a.now.advance(10 * time.Minute) })
	a.nothing(second)
	a.beats(first, l)
	if err := first.Publish(t.Context(), id, l.Try, job.Run{Suite: "measured while serve was away", Side: job.Old}); err != nil {
		t.Fatal(err)
	}

	// Its lease runs anew; ten minutes of silence and three more are too many.
	a.gone(func() { a.now.advance(10 * time.Minute) })
	a.nothing(second)
	a.now.advance(3 * time.Minute)
	next := claim(t, second)
	if next.Job.ID != id || next.Try != 2 {
		t.Errorf("the second runner has try %d of %s", next.Try, next.Job.ID)
	}
	if b, err := first.Beat(t.Context(), id, l.Try, job.Progress{}); err != nil || !b.Lost {
		t.Errorf("the first runner is told %+v, %v", b, err)
	}
}

func TestAServeThatWasAwayLongerThanALeaseHearsALivingRunnerFirst(t *testing.T) {
	t.Parallel()
	a := newAway(t)
	id := create(t, a.q, wish(1, 1, "k")).ID
	first := enroll(t, a.q, "first", "default")
	l := claim(t, first)
	a.beats(first, l)
	second := enroll(t, a.q, "second", "default")

	a.gone(func() { a.now.advance(time.Hour) })
	a.nothing(second)
	a.beats(first, l)
	// The same where only the clock says so.
	a.gone(func() { a.now.jump(time.Hour) })
	a.nothing(second)
	a.beats(first, l)
	if err := first.Done(t.Context(), id, l.Try, job.Outcome{Kind: job.Measured}); err != nil {
		t.Error(err)
	}
}
