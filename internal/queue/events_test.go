package queue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prbench/prbench/internal/job"
)

func event(delivery string) job.Event {
	return job.Event{Version: 1, Delivery: delivery, Kind: "pull_request", Repository: job.Repository{ID: 1}, PR: 1}
}

func publish(t testing.TB, q *Queue, evs ...job.Event) {
	t.Helper()
	for _, ev := range evs {
		if dup, err := q.PublishEvent(t.Context(), ev); err != nil || dup {
			t.Fatalf("event %s: duplicate %v, %v", ev.Delivery, dup, err)
		}
	}
}

// consume handles events until the test ends.
func consume(t testing.TB, q *Queue, handle func(context.Context, job.Event) error) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- q.ConsumeEvents(ctx, handle) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("ConsumeEvents: %v", err)
		}
	})
	t.Cleanup(stop)
	return stop
}

// seen collects deliveries.
type seen struct {
	mu   sync.Mutex
	list []string
}

func (s *seen) add(d string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = append(s.list, d)
	n := 0
	for _, e := range s.list {
		if e == d {
			n++
		}
	}
	return n
}

func (s *seen) all() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.list)
}

func TestADeliveryIsKeptOnceOverARestart(t *testing.T) {
	dir := t.TempDir()
	at := func(o *Options) { o.Dir = dir }
	q := open(t, at)
	publish(t, q, event("d1"), event("d2"))
	var got seen
	stop := consume(t, q, func(_ context.Context, ev job.Event) error { got.add(ev.Delivery); return nil })
	eventually(t, "both are handled", func() bool { return len(got.all()) == 2 })
	stop()
	q.Close()

	q = open(t, at)
	if c := q.hooks.CachedInfo().Config; c.Duplicates != 72*time.Hour || c.MaxAge != 72*time.Hour {
		t.Errorf("deliveries are known for %v and events kept for %v", c.Duplicates, c.MaxAge)
	}
	if !q.embed.server.JetStreamConfig().SyncAlways {
		t.Error("what is acknowledged need not be on disk")
	}
	for _, d := range []string{"d1", "d2"} {
		if dup, err := q.PublishEvent(t.Context(), event(d)); err != nil || !dup {
			t.Errorf("%s again: duplicate %v, %v", d, dup, err)
		}
	}
	publish(t, q, event("d3"))
	consume(t, q, func(_ context.Context, ev job.Event) error { got.add(ev.Delivery); return nil })
	eventually(t, "the third is handled", func() bool { return len(got.all()) >= 3 })
	if l := got.all(); !slices.Equal(l[2:], []string{"d3"}) {
		t.Errorf("after the restart %v were handled", l[2:])
	}
	if _, err := q.PublishEvent(t.Context(), job.Event{}); err == nil {
		t.Error("an event without a delivery is kept")
	}
}

func TestAFullStreamSaysSoAndKeepsWhatItHas(t *testing.T) {
	q := open(t, func(o *Options) { o.MaxBytes = 1 << 20 })
	big := event("")
	big.Comment = &job.Comment{Body: strings.Repeat("x", 10<<10)}
	kept := 0
	var err error
	for ; kept < 100; kept++ {
		big.Delivery = fmt.Sprint("d", kept)
		if _, err = q.PublishEvent(t.Context(), big); err != nil {
			break
		}
	}
	if !errors.Is(err, ErrFull) {
		t.Fatalf("after %d events of 10 KiB in 128 KiB: %v, want ErrFull", kept, err)
	}
	if kept < 8 || kept > 12 {
		t.Errorf("%d events of 10 KiB fit into 128 KiB", kept)
	}
	if n := hooksCount(t, q); int(n) != kept {
		t.Errorf("%d events were acknowledged, %d are there", kept, n)
	}
	create(t, q, wish(1, 1, "k")) // the jobs have their own room
}

func TestServesShareTheEventsAndAPullRequestsStayInOrder(t *testing.T) {
	url, credentials := external(t)
	qs := []*Queue{openURL(t, url, credentials), openURL(t, url, credentials)}
	var first, both seen
	const n = 60
	for i := range n {
		ev := event(fmt.Sprintf("%d-%02d", i%3, i))
		ev.PR = 1 + i%3
		publish(t, qs[0], ev)
	}
	stop := consume(t, qs[0], func(_ context.Context, ev job.Event) error {
		first.add(ev.Delivery)
		both.add(ev.Delivery)
		return nil
	})
	eventually(t, "one serve handles all", func() bool { return len(first.all()) == n })
	for pr := range 3 {
		var mine []string
		for _, d := range first.all() {
			if strings.HasPrefix(d, fmt.Sprint(pr, "-")) {
				mine = append(mine, d)
			}
		}
		if len(mine) != n/3 || !slices.IsSorted(mine) {
			t.Errorf("the events of pull request %d were handled in the order %v", pr, mine)
		}
	}
	consume(t, qs[1], func(_ context.Context, ev job.Event) error { both.add(ev.Delivery); return nil })
	for i := range n {
		publish(t, qs[i%2], event(fmt.Sprint("more", i)))
	}
	eventually(t, "two serves handle all", func() bool { return len(both.all()) >= 2*n })
	stop()
	all := both.all()
	slices.Sort(all)
	if len(slices.Compact(all)) != len(both.all()) {
		t.Errorf("%d events were handled %d times", 2*n, len(both.all()))
	}
}

func BenchmarkAnEventIsOnDisk(b *testing.B) {
	for _, clients := range []int{1, 16} {
		b.Run(fmt.Sprintf("clients=%d", clients), func(b *testing.B) {
			q := open(b, func(o *Options) { o.MaxBytes = 64 << 30 })
			ev := event("")
			ev.Comment = &job.Comment{Body: strings.Repeat("x", 1000)}
			work := make(chan int)
			var wg sync.WaitGroup
			b.ResetTimer()
			for range clients {
				wg.Go(func() {
					for i := range work {
						ev := ev
						ev.Delivery = fmt.Sprint(i)
						if _, err := q.PublishEvent(b.Context(), ev); err != nil {
							b.Error(err)
						}
					}
				})
			}
			for i := range b.N {
				work <- i
			}
			close(work)
			wg.Wait()
		})
	}
}
