package queue

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

func shortLead(o *Options) { o.LeadLease = 2 * time.Second }

func TestThereIsOneLeaderAtATime(t *testing.T) {
	t.Parallel()
	url, credentials := external(t)
	var at, most, turns atomic.Int32
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var wg sync.WaitGroup
	for range 3 {
		q := openURL(t, url, credentials, shortLead)
		for range 2 {
			wg.Go(func() {
				for ctx.Err() == nil {
					err := q.Lead(ctx, "publisher", func(context.Context) error {
						if n := at.Add(1); n > most.Load() {
							most.Store(n)
						}
						time.Sleep(10 * time.Millisecond)
						at.Add(-1)
						if turns.Add(1) == 5 {
							stop()
						}
						return nil
					})
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	wg.Wait()
	if most.Load() != 1 {
		t.Errorf("%d led at once", most.Load())
	}
}

func TestADeadLeaderIsFollowedAndALivingOneIsNot(t *testing.T) {
	t.Parallel()
	url, credentials := external(t)
	first, second := openURL(t, url, credentials, shortLead), openURL(t, url, credentials, shortLead)
	leads := make(chan string, 2)
	var wg sync.WaitGroup
	defer wg.Wait()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	lead := func(q *Queue, name string) {
		wg.Go(func() {
			err := q.Lead(ctx, "publisher", func(ctx context.Context) error {
				leads <- name
				<-ctx.Done()
				return ctx.Err()
			})
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
	lead(first, "first")
	if who := <-leads; who != "first" {
		t.Fatalf("%s leads", who)
	}
	lead(second, "second")
	select {
	case who := <-leads:
		t.Fatalf("%s leads beside a living leader", who)
	case <-time.After(first.opts.LeadLease * 3 / 2):
	}
	first.nc.Close() // as when its process dies
	if who := <-leads; who != "second" {
		t.Errorf("%s leads after the first died", who)
	}
}

func TestALeadersErrorEndsTheLeadAndGivesTheLeaseBack(t *testing.T) {
	q := open(t)
	broken := errors.New("broken")
	if err := q.Lead(t.Context(), "publisher", func(context.Context) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("the error: %v", err)
	}
	if e, err := q.leases.Get(t.Context(), "publisher"); !errors.Is(err, jetstream.ErrKeyNotFound) {
		t.Errorf("the lease is still there: %v, %v", e, err)
	}
	if err := q.Lead(t.Context(), "publisher", func(context.Context) error { return nil }); err != nil {
		t.Error(err)
	}
	if err := q.Lead(t.Context(), "no.such name", nil); err == nil {
		t.Error("a name with dots leads")
	}
}
