package queue

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prbench/prbench/internal/job"
)

func TestAnExpiredLeaseMakesTheNextTryAtMostThreeTimes(t *testing.T) {
	t.Parallel()
	now := newClock()
	q, f := open(t, now.on), &forge{}
	serve(t, q, f)
	id := create(t, q, wish(1, 1, "k")).ID
	var cs []*RunnerConn
	for i := range job.MaxTries {
		cs = append(cs, enroll(t, q, fmt.Sprint("box", i), "default"))
	}
	for i, c := range cs {
		l := claim(t, c)
		if l.Job.ID != id || l.Try != i+1 {
			t.Fatalf("try %d of %s was handed out, want %d of %s", l.Try, l.Job.ID, i+1, id)
		}
		if _, err := c.Token(t.Context(), id, l.Try); err != nil {
			t.Fatal(err)
		}
		now.advance(q.opts.Lease + 1)
		eventually(t, "the try is lost", func() bool { return get(t, q, id).State != job.Running })
	}
	j := get(t, q, id)
	if j.State != job.Publishing || j.Outcome == nil || j.Outcome.Kind != job.Fault || j.Finished.IsZero() {
		t.Errorf("after three lost tries: %+v", j)
	}
	if len(j.LostTries) != job.MaxTries || !strings.Contains(j.LostTries[0], "try 1 on box0: ") {
		t.Errorf("the lost tries: %q", j.LostTries)
	}
	if l, err := cs[0].Claim(t.Context(), ClaimRequest{Wait: 50 * time.Millisecond}); err != nil || l != nil {
		t.Errorf("a fourth try: %+v, %v", l, err)
	}
	eventually(t, "the lost tries' tokens are revoked", func() bool { return len(f.gone()) == job.MaxTries })
}

func TestAClashCountsWhereItIsTheSameInEachTry(t *testing.T) {
	t.Parallel()
	q := open(t, func(o *Options) { o.Pauses = []time.Duration{} })
	serve(t, q, &forge{})
	c := enroll(t, q, "box", "default")
	head := &job.Clash{Case: "s", Side: job.New, Tries: 99} // what a runner counts is not taken
	base := &job.Clash{Case: "s", Side: job.Old}
	for name, tries := range map[string][]*job.Clash{
		"the head in each try":        {head, head, head},
		"the head, but for one":       {head, base, head},
		"the machine failed between":  {head, nil, head},
		"the base at first, then not": {base, head, head},
	} {
		id := create(t, q, wish(1, 1, name)).ID
		for i, clash := range tries {
			l := claim(t, c)
			if l.Job.ID != id || l.Try != i+1 {
				t.Fatalf("%s: %s, try %d was handed out", name, l.Job.ID, l.Try)
			}
			if err := c.Done(t.Context(), id, l.Try, job.Outcome{Kind: job.Fault, Text: "a port", Clash: clash}); err != nil {
				t.Fatal(err)
			}
		}
		if o := get(t, q, id).Outcome; o == nil || o.Clash.EachTry() != (name == "the head in each try") {
			t.Errorf("%s: %+v", name, o)
		}
	}
}

func TestBeatsKeepALease(t *testing.T) {
	t.Parallel()
	now := newClock()
	q := open(t, now.on)
	d := serve(t, q, &forge{})
	id := create(t, q, wish(1, 1, "k")).ID
	c := enroll(t, q, "box", "default")
	l := claim(t, c)
	for range 4 {
		now.advance(q.opts.Lease * 9 / 10)
		d.sweep(t.Context())
		if b, err := c.Beat(t.Context(), id, l.Try, job.Progress{Phase: job.PhaseMeasure}); err != nil || b.Lost {
			t.Fatalf("beat: %+v, %v", b, err)
		}
	}
	if j := get(t, q, id); j.State != job.Running || j.Try != 1 || j.Progress.Phase != job.PhaseMeasure || !j.LeaseEnd.Equal(now.now().Add(q.opts.Lease)) {
		t.Errorf("the job: %+v", j)
	}
	now.advance(q.opts.Lease + 1)
	eventually(t, "without a beat the try is lost", func() bool { return get(t, q, id).State == job.Queued })
}

func TestALostTryCanDoNothingMore(t *testing.T) {
	t.Parallel()
	now := newClock()
	q := open(t, now.on)
	serve(t, q, &forge{})
	id := create(t, q, wish(1, 1, "k")).ID
	old, young := enroll(t, q, "old", "default"), enroll(t, q, "young", "default")
	ctx := t.Context()
	first := claim(t, old)
	if err := old.Publish(ctx, id, 1, job.Run{Suite: "kept", Side: job.Old}); err != nil {
		t.Fatal(err)
	}
	now.advance(q.opts.Lease + 1)
	second := claim(t, young)
	if first.Try != 1 || second.Try != 2 {
		t.Fatalf("tries %d and %d", first.Try, second.Try)
	}
	stale := func(who string) {
		t.Helper()
		if b, err := old.Beat(ctx, id, 1, job.Progress{Done: 9}); err != nil || !b.Lost {
			t.Errorf("%s, the lost try beats: %+v, %v", who, b, err)
		}
		if err := old.Done(ctx, id, 1, job.Outcome{Kind: job.Measured}); !errors.Is(err, ErrStale) {
			t.Errorf("%s, the lost try is done: %v", who, err)
		}
		if err := old.Publish(ctx, id, 1, job.Run{Suite: "late", Side: job.Old}); !errors.Is(err, ErrStale) {
			t.Errorf("%s, the lost try publishes: %v", who, err)
		}
		if _, err := old.Token(ctx, id, 1); !errors.Is(err, ErrStale) {
			t.Errorf("%s, the lost try gets a token: %v", who, err)
		}
	}
	stale("while the next runs")
	if err := young.Done(ctx, id, 2, job.Outcome{Kind: job.Measured, Text: "right"}); err != nil {
		t.Fatal(err)
	}
	stale("after the next ended")
	if j := get(t, q, id); j.Outcome.Text != "right" || j.Progress.Done != 0 || len(j.LostTries) != 1 {
		t.Errorf("the job: %+v", j)
	}
	if rs := readRuns(t, q, old.Key(), id, 1); len(rs) != 1 {
		t.Errorf("%d records of the first try", len(rs))
	}
	if rs := readRuns(t, q, young.Key(), id, 2); len(rs) != 0 {
		t.Errorf("%d records of the second try", len(rs))
	}
}

func TestAFaultMakesAnotherTryUntilThereWereThree(t *testing.T) {
	q := open(t, func(o *Options) { o.Pauses = []time.Duration{} })
	serve(t, q, &forge{})
	id := create(t, q, wish(1, 1, "k")).ID
	c := enroll(t, q, "box", "default")
	for try := 1; try <= job.MaxTries; try++ {
		l := claim(t, c)
		if l.Try != try {
			t.Fatalf("try %d, want %d", l.Try, try)
		}
		for range 2 { // told again, it is no second loss
			if err := c.Done(t.Context(), id, try, job.Outcome{Kind: job.Fault, Text: "port taken"}); err != nil {
				t.Fatal(err)
			}
		}
		want := job.Queued
		if try == job.MaxTries {
			want = job.Publishing
		}
		if j := get(t, q, id); j.State != want || len(j.LostTries) != try {
			t.Fatalf("after try %d: %s, lost %q", try, j.State, j.LostTries)
		}
	}
	if j := get(t, q, id); j.Outcome.Kind != job.Fault || j.Outcome.Text != "port taken" {
		t.Errorf("the outcome: %+v", j.Outcome)
	}
}

func TestARunnerThatClaimsHasLostWhatItHad(t *testing.T) {
	q := open(t)
	serve(t, q, &forge{})
	id := create(t, q, wish(1, 1, "k")).ID
	seed, public, err := NewKey()
	if err != nil {
		t.Fatal(err)
	}
	if err := q.Enroll(t.Context(), "box", "default", public); err != nil {
		t.Fatal(err)
	}
	before := dial(t, q.RunnerURL(), seed)
	if l := claim(t, before); l.Try != 1 {
		t.Fatalf("try %d", l.Try)
	}
	before.Close() // its process died
	after := dial(t, q.RunnerURL(), seed)
	if l := claim(t, after); l.Job.ID != id || l.Try != 2 || len(l.Job.LostTries) != 1 {
		t.Errorf("after the restart: %+v", l)
	}
}

func TestWhatARunnerSaysIsCutToSize(t *testing.T) {
	q := open(t)
	serve(t, q, &forge{})
	id := create(t, q, wish(1, 1, "k")).ID
	c := enroll(t, q, "box", "default")
	l := claim(t, c)
	long := strings.Repeat("é", 100<<10)
	if _, err := c.Beat(t.Context(), id, l.Try, job.Progress{Case: long, Done: -1}); err != nil {
		t.Fatal(err)
	}
	if j := get(t, q, id); len(j.Progress.Case) > maxName || j.Progress.Done != 0 {
		t.Errorf("progress: %d bytes, done %d", len(j.Progress.Case), j.Progress.Done)
	}
	if err := c.Done(t.Context(), id, l.Try, job.Outcome{Kind: "won"}); !errors.Is(err, ErrInvalid) {
		t.Errorf("an outcome that does not exist: %v", err)
	}
	o := job.Outcome{Kind: job.BuildFailed, Text: long, Log: long + "END", Notes: []string{long}}
	if err := c.Done(t.Context(), id, l.Try, o); err != nil {
		t.Fatal(err)
	}
	j := get(t, q, id)
	if len(j.Outcome.Text) > maxText || len(j.Outcome.Log) > maxLog || len(j.Outcome.Notes[0]) > maxText || !strings.HasSuffix(j.Outcome.Log, "éEND") {
		t.Errorf("outcome: text %d, log %d, note %d bytes", len(j.Outcome.Text), len(j.Outcome.Log), len(j.Outcome.Notes[0]))
	}
}
