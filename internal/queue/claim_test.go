package queue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/prbench/prbench/internal/job"
)

// many makes n runners of the pool default on an external server with two
// serves, by their desks, all with the given options.
func many(t *testing.T, n int, change ...func(*Options)) (qs []*Queue, ds []*desk, cs []*RunnerConn) {
	t.Helper()
	var rs []Runner
	var seeds []string
	for i := range n {
		seed, key, err := NewKey()
		if err != nil {
			t.Fatal(err)
		}
		rs = append(rs, Runner{Key: key, Name: fmt.Sprint("box", i), Pool: "default"})
		seeds = append(seeds, seed)
	}
	url, credentials := external(t, rs...)
	for range 2 {
		q := openURL(t, url, credentials, change...)
		ds = append(ds, serve(t, q, &forge{}))
		qs = append(qs, q)
	}
	for i, r := range rs {
		if err := qs[0].Enroll(t.Context(), r.Name, r.Pool, r.Key); err != nil {
			t.Fatal(err)
		}
		cs = append(cs, dial(t, url, seeds[i]))
	}
	return qs, ds, cs
}

// work claims and ends jobs until n are done by all together.
func work(t *testing.T, cs []*RunnerConn, n int, each func(*RunnerConn, *Lease)) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	var mu sync.Mutex
	var wg sync.WaitGroup
	left := n
	for _, c := range cs {
		wg.Go(func() {
			for ctx.Err() == nil {
				l, err := c.Claim(ctx, ClaimRequest{Wait: 5 * time.Second})
				if err != nil && ctx.Err() == nil && !errors.Is(err, ErrAway) {
					t.Errorf("claim: %v", err)
				}
				if l == nil {
					continue
				}
				each(c, l)
				mu.Lock()
				if left--; left == 0 {
					stop()
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if left > 0 {
		t.Fatalf("%d of %d jobs were not handed out", left, n)
	}
}

func end(t *testing.T, c *RunnerConn, l *Lease) {
	if err := c.Done(context.WithoutCancel(t.Context()), l.Job.ID, l.Try, job.Outcome{Kind: job.Measured}); err != nil {
		t.Errorf("done: %v", err)
	}
}

func TestThirtyRunnersOnTwoServesClaimThreeHundredJobsOnceEach(t *testing.T) {
	t.Parallel()
	qs, _, cs := many(t, 30)
	const jobs = 300
	var made sync.WaitGroup
	for part := range 10 {
		made.Go(func() {
			for i := range jobs / 10 {
				if _, _, err := qs[i%2].Create(t.Context(), wish(int64(part+1), i+1, "k")); err != nil {
					t.Error(err)
				}
			}
		})
	}
	var mu sync.Mutex
	times := map[job.ID]int{}
	work(t, cs, jobs, func(c *RunnerConn, l *Lease) {
		mu.Lock()
		times[l.Job.ID]++
		mu.Unlock()
		end(t, c, l)
	})
	made.Wait()
	for id, n := range times {
		if n != 1 {
			t.Errorf("job %s was handed out %d times", id, n)
		}
	}
	js, err := qs[1].ByState(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, j := range js {
		if j.State != job.Publishing || j.Try != 1 {
			t.Errorf("job %s is %s after try %d", j.ID, j.State, j.Try)
		}
	}
	if len(js) != jobs || len(times) != jobs {
		t.Errorf("%d jobs, %d handed out, want %d", len(js), len(times), jobs)
	}
}

func TestTheLimitsHoldOverTwoServes(t *testing.T) {
	t.Parallel()
	qs, _, cs := many(t, 12, func(o *Options) {
		o.Limits = func(string) Limits { return Limits{PerPerson: 2, PerRepository: 3} }
	})
	const jobs = 48
	for i := range jobs {
		w := wish(int64(1+i%2), i+1, "k")
		w.Wish.SenderID = int64(1 + i%4)
		create(t, qs[i%2], w)
	}
	var mu sync.Mutex
	persons, repos := map[int64]int{}, map[int64]int{}
	most := 0
	four := make(chan struct{}) // closed when so many run at once
	work(t, cs, jobs, func(c *RunnerConn, l *Lease) {
		p, r := l.Job.Wish.SenderID, l.Job.Repository.ID
		mu.Lock()
		persons[p]++
		repos[r]++
		if persons[p] > 2 || repos[r] > 3 {
			t.Errorf("%d of person %d and %d of repository %d run at once", persons[p], p, repos[r], r)
		}
		most++
		if most == 4 {
			close(four)
		}
		mu.Unlock()
		<-four // the limits let six run
		time.Sleep(5 * time.Millisecond)
		mu.Lock()
		persons[p]--
		repos[r]--
		mu.Unlock()
		end(t, c, l)
	})
}

func TestAClaimThatAnotherServesClaimForestalledIsTakenBack(t *testing.T) {
	q := open(t)
	ub := enrolled(t, q, "b")
	limit := Limits{PerPerson: 1}
	q.opts.Limits = func(string) Limits { return limit }
	a, b := create(t, q, wish(1, 1, "k")), create(t, q, wish(1, 2, "k"))
	// This serve knows of b alone: the other's claim of a is on its way to it.
	d := newDesk(q, (&forge{}).desk())
	d.index.apply(b, 2)
	theirs, rev, err := q.handOut(t.Context(), a.ID, Runner{Key: "UA", Name: "a", Pool: "default"})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		eventually(t, "b is claimed", func() bool { return get(t, q, b.ID).State == job.Running })
		ours, e, err := q.get(t.Context(), b.ID)
		if err != nil {
			t.Error(err)
			return
		}
		d.index.watched(Change{Job: theirs, revision: rev})
		d.index.watched(Change{Job: ours, revision: e.Revision()})
	})
	if j, ok, err := d.claimNow(t.Context(), ub); err != nil || ok {
		t.Errorf("handed out %s, %v", j.ID, err)
	}
	if j := get(t, q, b.ID); j.State != job.Queued || j.Try != 0 || j.Runner != "" || len(j.LostTries) != 0 {
		t.Errorf("b was not put back: %+v", j)
	}
	limit = Limits{}
	if j, ok, err := d.claimNow(t.Context(), ub); err != nil || !ok || j.Try != 1 {
		t.Errorf("without the limit: %+v, %v, %v", j, ok, err)
	}
}

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

func TestTheIndexPassesOverWhatIsOlder(t *testing.T) {
	x := newIndex(newClock().leases())
	j := wish(1, 1, "k")
	j.ID, j.State, j.Try = "1.1.1", job.Running, 1
	x.apply(j, 5)
	j.State = job.Queued
	x.apply(j, 4)
	if _, ok := x.next("default", Limits{}, nil); ok {
		t.Error("an old record came back")
	}
	x.apply(j, 6)
	if got, ok := x.next("default", Limits{}, nil); !ok || got.ID != j.ID {
		t.Errorf("next: %v, %v", got.ID, ok)
	}
	j.State, j.Try = job.Running, 2
	x.apply(j, 7)
	j.Progress.Done = 3
	x.apply(j, 8)
	if x.jobs[j.ID].claimed != 7 {
		t.Errorf("a beat moved the claim to %d", x.jobs[j.ID].claimed)
	}
	other := j
	other.ID = "1.2.1"
	// Claimed before ours: ours is one too many. Claimed after: the other is.
	for claimed, want := range map[uint64]bool{6: true, 9: false} {
		y := newIndex(newClock().leases())
		y.apply(j, 8)
		y.apply(other, claimed)
		if got := y.overrun(j, 8, Limits{PerPerson: 1}); got != want {
			t.Errorf("another claim at %d, ours at 8: overrun %v", claimed, got)
		}
	}
	if ids := x.find(func(j job.Job) bool { return j.Try == 2 }); len(ids) != 1 || !slices.Equal(ids[0].Notes, j.Notes) {
		t.Errorf("find: %v", ids)
	}
}
