package queue

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/prbench/prbench/internal/job"
)

// enrolled makes a runner that does not connect.
func enrolled(t *testing.T, q *Queue, name string) Runner {
	t.Helper()
	_, key, err := NewKey()
	if err != nil {
		t.Fatal(err)
	}
	if err := q.Enroll(t.Context(), name, "default", key); err != nil {
		t.Fatal(err)
	}
	return Runner{Key: key, Name: name, Pool: "default"}
}

func TestAClaimThatWaitsWhenItsRunnerIsRevokedGetsNoJob(t *testing.T) {
	q := open(t)
	gone, moved, stays := enrolled(t, q, "gone"), enrolled(t, q, "moved"), enrolled(t, q, "stays")
	if err := q.Revoke(t.Context(), gone.Name); err != nil {
		t.Fatal(err)
	}
	if err := q.Enroll(t.Context(), moved.Name, "other", moved.Key); err != nil {
		t.Fatal(err)
	}
	made := create(t, q, wish(1, 1, "k"))
	d := newDesk(q, (&forge{}).desk())
	d.index.apply(made, 1)
	// Each was found enrolled, in this pool, when its claim came in.
	if a := d.claim(t.Context(), gone, request{}); a.Job != nil || a.Error == nil || a.Error.Code != codeRefused {
		t.Errorf("the revoked runner got %+v, %+v", a.Job, a.Error)
	}
	if a := d.claim(t.Context(), moved, request{}); a.Job != nil || a.Error == nil || a.Error.Code != codeAgain {
		t.Errorf("the moved runner got %+v, %+v", a.Job, a.Error)
	}
	if j := get(t, q, made.ID); j.State != job.Queued || j.Try != 0 || j.Runner != "" || len(j.LostTries) != 0 {
		t.Errorf("the job was not put back: %+v", j)
	}
	if a := d.claim(t.Context(), stays, request{}); a.Job == nil || a.Job.Try != 1 {
		t.Errorf("the next runner got %+v, %+v", a.Job, a.Error)
	}
}

func TestRepositoriesTakeTurnsAndEachServesItsOldestJobFirst(t *testing.T) {
	q := open(t)
	serve(t, q, &forge{})
	for i, at := range [][2]int{{1, 1}, {1, 2}, {1, 3}, {1, 4}, {2, 1}, {2, 2}, {3, 1}} {
		w := wish(int64(at[0]), at[1], "k")
		w.Created = time.Unix(int64(1000+i), 0)
		create(t, q, w)
	}
	c := enroll(t, q, "box", "default")
	var got []job.ID
	for range 7 {
		l := claim(t, c)
		got = append(got, l.Job.ID)
		end(t, c, l)
	}
	want := []job.ID{"1.1.1", "2.1.1", "3.1.1", "1.2.1", "2.2.1", "1.3.1", "1.4.1"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("order (-want +got):\n%s", d)
	}
}

func TestAPersonAtTheLimitDoesNotHoldUpTheOthers(t *testing.T) {
	q := open(t, func(o *Options) { o.Limits = func(string) Limits { return Limits{PerPerson: 1} } })
	serve(t, q, &forge{})
	for i := range 3 {
		w := wish(1, i+1, "k")
		w.Created = time.Unix(int64(1000+i), 0)
		if i == 2 {
			w.Wish.SenderID = 2
		}
		create(t, q, w)
	}
	a, b, c := enroll(t, q, "a", "default"), enroll(t, q, "b", "default"), enroll(t, q, "c", "default")
	first := claim(t, a)
	if l := claim(t, b); first.Job.ID != "1.1.1" || l.Job.ID != "1.3.1" {
		t.Errorf("handed out %s and %s", first.Job.ID, l.Job.ID)
	}
	if l, err := c.Claim(t.Context(), ClaimRequest{Wait: 50 * time.Millisecond}); err != nil || l != nil {
		t.Errorf("beyond the limit: %+v, %v", l, err)
	}
	end(t, a, first)
	if l := claim(t, c); l.Job.ID != "1.2.1" {
		t.Errorf("then: %s", l.Job.ID)
	}
}

func TestARunnerGetsItsPoolsJobsOnly(t *testing.T) {
	q := open(t)
	serve(t, q, &forge{})
	w := wish(1, 1, "k")
	w.Spec.Pool = "big"
	create(t, q, w)
	create(t, q, wish(1, 2, "k"))
	small, big := enroll(t, q, "small", "default"), enroll(t, q, "big", "big")
	if l := claim(t, small); l.Job.ID != "1.2.1" {
		t.Errorf("the pool default got %s", l.Job.ID)
	}
	if l := claim(t, big); l.Job.ID != "1.1.1" {
		t.Errorf("the pool big got %s", l.Job.ID)
	}
}

func TestAWaitingClaimGetsAJobThatComes(t *testing.T) {
	q := open(t)
	serve(t, q, &forge{})
	c := enroll(t, q, "box", "default")
	claim1 := make(chan *Lease, 1)
	go func() {
		l, err := c.Claim(t.Context(), ClaimRequest{})
		if err != nil {
			t.Error(err)
		}
		claim1 <- l
	}()
	eventually(t, "the claim waits", func() bool { return q.nc.Stats().InMsgs > 0 })
	create(t, q, wish(1, 1, "k"))
	if l := <-claim1; l == nil || l.Job.ID != "1.1.1" {
		t.Errorf("claimed %+v", l)
	}
}

func TestAClaimThatIsGivenUpTakesNoJob(t *testing.T) {
	qs, ds, cs := many(t, 1)
	c := cs[0]
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := c.Claim(ctx, ClaimRequest{})
		done <- err
	}()
	eventually(t, "the claim waits", func() bool {
		return slices.ContainsFunc(ds, func(d *desk) bool {
			d.mu.Lock()
			defer d.mu.Unlock()
			return d.waiting[c.Key()] != nil
		})
	})
	stop()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("claim: %v", err)
	}
	// The word that it has gone is on its way to the serves before this is.
	if _, err := c.Beat(t.Context(), "1.1.1", 1, job.Progress{}); err != nil {
		t.Fatal(err)
	}
	made := create(t, qs[0], wish(1, 1, "k"))
	if l := claim(t, c); l.Job.ID != made.ID || l.Try != 1 {
		t.Errorf("claimed try %d of %s", l.Try, l.Job.ID)
	}
}

func TestAClaimPausesWhileServeIsAway(t *testing.T) {
	t.Parallel()
	q := open(t)
	c := enroll(t, q, "box", "default")
	start := time.Now()
	if _, err := c.Claim(t.Context(), ClaimRequest{}); !errors.Is(err, ErrAway) {
		t.Errorf("nobody serves: %v, want ErrAway", err)
	}
	if d := time.Since(start); d < time.Second {
		t.Errorf("it came back after %v", d)
	}
}

func TestACancelledJobIsNotHandedOut(t *testing.T) {
	q := open(t, newClock().on)
	a, b := create(t, q, wish(1, 1, "k")), create(t, q, wish(1, 2, "k"))
	if j, err := q.Cancel(t.Context(), a.ID, job.Cancel{By: "ann"}); err != nil || j.State != job.Cancelled || j.Finished.IsZero() {
		t.Errorf("cancelled: %+v, %v", j, err)
	}
	// The flag alone, as another writer may set it, does the same.
	if _, err := q.Update(t.Context(), b.ID, func(j *job.Job) error { j.Cancel = &job.Cancel{By: "bob"}; return nil }); err != nil {
		t.Fatal(err)
	}
	serve(t, q, &forge{})
	c := enroll(t, q, "box", "default")
	eventually(t, "the other is cancelled too", func() bool { return get(t, q, b.ID).State == job.Cancelled })
	if l, err := c.Claim(t.Context(), ClaimRequest{Wait: time.Millisecond}); err != nil || l != nil {
		t.Errorf("claimed %+v, %v", l, err)
	}
}

func TestARunnerLearnsOfACancelWithItsBeat(t *testing.T) {
	q := open(t)
	serve(t, q, &forge{})
	made := create(t, q, wish(1, 1, "k"))
	c := enroll(t, q, "box", "default")
	l := claim(t, c)
	for _, by := range []string{"ann", "bob"} { // the first one stays
		if _, err := q.Cancel(t.Context(), made.ID, job.Cancel{By: by}); err != nil {
			t.Fatal(err)
		}
	}
	b, err := c.Beat(t.Context(), made.ID, l.Try, job.Progress{})
	if err != nil || b.Lost || b.Cancel == nil || b.Cancel.By != "ann" {
		t.Fatalf("beat: %+v, %v", b, err)
	}
	// Even a fault makes no other try then.
	if err := c.Done(t.Context(), made.ID, l.Try, job.Outcome{Kind: job.Fault, Text: "killed"}); err != nil {
		t.Fatal(err)
	}
	if j := get(t, q, made.ID); j.State != job.Publishing || j.Outcome.Kind != job.Stopped {
		t.Errorf("it ended %s, %+v", j.State, j.Outcome)
	}
}
