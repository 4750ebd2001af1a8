package queue

import (
	"testing"
	"time"

	"github.com/prbench/prbench/internal/job"
)

// slowly gives options with the pauses of a minute and of three, on a clock of the
// test's own, where no lease ends.
func (c *clock) slowly(o *Options) {
	c.on(o)
	o.Lease, o.Pauses = time.Hour, []time.Duration{time.Minute, 3 * time.Minute}
}

// soon is a claim that waits no longer than a job that is there takes.
func soon(t *testing.T, c *RunnerConn) *Lease {
	t.Helper()
	l, err := c.Claim(t.Context(), ClaimRequest{Wait: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func fails(t *testing.T, c *RunnerConn, l *Lease, again bool) {
	t.Helper()
	if err := c.Done(t.Context(), l.Job.ID, l.Try, job.Outcome{Kind: job.Fault, Text: "no route to the forge", Again: again}); err != nil {
		t.Fatal(err)
	}
}

func TestAfterAFaultAJobWaitsForItsNextTryAndTheOthersDoNot(t *testing.T) {
	t.Parallel()
	now := newClock()
	q := open(t, now.slowly)
	serve(t, q, &forge{})
	first, second := create(t, q, wish(1, 1, "k")).ID, create(t, q, wish(1, 2, "k")).ID
	c := enroll(t, q, "box", "default")
	l := claim(t, c)
	if l.Job.ID != first {
		t.Fatalf("%s was handed out first", l.Job.ID)
	}
	fails(t, c, l, false)
	if want := now.now().Add(time.Minute); !get(t, q, first).NotBefore.Equal(want) {
		t.Errorf("the next try may begin at %v, want %v", get(t, q, first).NotBefore, want)
	}
	l = claim(t, c)
	if l.Job.ID != second {
		t.Fatalf("after its fault %s was handed out again at once", l.Job.ID)
	}
	end(t, c, l)
	now.jump(-time.Hour) // nobody's clock makes it longer, or shorter
	for _, pause := range []time.Duration{time.Minute, 3 * time.Minute} {
		now.advance(pause - 1)
		if l := soon(t, c); l != nil {
			t.Fatalf("try %d was handed out before its time", l.Try)
		}
		now.advance(1)
		l = claim(t, c)
		if l.Job.ID != first || !get(t, q, first).NotBefore.IsZero() {
			t.Fatalf("handed out %+v", l.Job)
		}
		fails(t, c, l, false)
	}
	if j := get(t, q, first); j.State != job.Publishing || len(j.LostTries) != job.MaxTries {
		t.Errorf("in the end: %+v", j)
	}
}

func TestAClaimThatWaitsGetsTheJobWhoseTimeHasCome(t *testing.T) {
	t.Parallel()
	now := newClock()
	q := open(t, now.slowly)
	serve(t, q, &forge{})
	id := create(t, q, wish(1, 1, "k")).ID
	c := enroll(t, q, "box", "default")
	fails(t, c, claim(t, c), false)
	go func() {
		time.Sleep(50 * time.Millisecond) // most often the claim waits by then; either way it gets the job
		now.advance(time.Minute)
	}()
	if l := claim(t, c); l.Job.ID != id || l.Try != 2 {
		t.Errorf("claimed %+v", l)
	}
}

func TestAnotherRunnerHasTheFirstRightToAJobWhoseTryFailed(t *testing.T) {
	t.Parallel()
	now := newClock()
	q := open(t, now.slowly)
	serve(t, q, &forge{})
	id := create(t, q, wish(1, 1, "k")).ID
	broken, good := enroll(t, q, "broken", "default"), enroll(t, q, "good", "default")
	elsewhere := enroll(t, q, "elsewhere", "big")
	fails(t, broken, claim(t, broken), false)
	soon(t, good)
	soon(t, elsewhere)
	now.advance(time.Minute)
	if l := soon(t, broken); l != nil {
		t.Fatalf("the runner whose try failed has got it again: %+v", l)
	}
	l := claim(t, good)
	if l.Job.ID != id || l.Try != 2 {
		t.Fatalf("the other runner has got %+v", l)
	}
	// One that is no longer there keeps nobody waiting.
	fails(t, good, l, false)
	now.advance(3 * time.Minute)
	soon(t, elsewhere)
	if l := claim(t, good); l.Try != 3 {
		t.Errorf("got %+v", l)
	}
}

func TestAJobThatAStoppedRunnerGivesBackWaitsForNothing(t *testing.T) {
	t.Parallel()
	q := open(t, newClock().slowly)
	serve(t, q, &forge{})
	create(t, q, wish(1, 1, "k"))
	c := enroll(t, q, "box", "default")
	enroll(t, q, "other", "default")
	fails(t, c, claim(t, c), true)
	if l := claim(t, c); l.Try != 2 {
		t.Errorf("got %+v", l)
	}
}

func TestATryThatFailedIsToldFromAStoppedOneWhereThereIsNoPause(t *testing.T) {
	t.Parallel()
	q := open(t, func(o *Options) { o.Pauses = []time.Duration{} })
	serve(t, q, &forge{})
	id := create(t, q, wish(1, 1, "k")).ID
	c := enroll(t, q, "box", "default")
	for _, again := range []bool{true, false} {
		fails(t, c, claim(t, c), again)
		if j := get(t, q, id); j.State != job.Queued || j.NotBefore.IsZero() != again {
			t.Errorf("stopped: %v; the job is %s and may begin at %v", again, j.State, j.NotBefore)
		}
	}
	if l := claim(t, c); l.Try != 3 {
		t.Errorf("got %+v", l)
	}
}

func TestWhoWaitsAfterAFaultIsToldUntilWhen(t *testing.T) {
	j := wish(1, 1, "k")
	for name, c := range map[string]struct {
		notBefore time.Time
		told      bool
	}{
		"it is to come":           {time.Now().Add(time.Hour), true},
		"it is over for another":  {time.Now(), true},
		"it is long over":         {time.Now().Add(-time.Hour), false},
		"there was no failed try": {time.Time{}, false},
	} {
		j.ID, j.State, j.Try, j.NotBefore = "1.1.1", job.Queued, 2, c.notBefore
		want := "It is the next in line."
		if c.told {
			want = "Try 2 of 3 failed on the benchmark machine; the next one begins at " + c.notBefore.UTC().Format("15:04:05") + " UTC or soon after. " + want
		}
		if p, ok := NewLine(j).Place(j.ID, Limits{}); !ok || p.String() != want {
			t.Errorf("%s: %q, want %q", name, p, want)
		}
	}
}
