package queue

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

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
