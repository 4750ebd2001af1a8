package queue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prbench/prbench/internal/job"
)

// backoff replaces the pauses between the handings of an event.
func backoff(t *testing.T, pauses ...time.Duration) {
	old := eventBackoff
	eventBackoff = pauses
	t.Cleanup(func() { eventBackoff = old })
}

// outcomes counts what became of the handings.
type outcomes struct {
	mu sync.Mutex
	of map[string]int
}

func (o *outcomes) note(kind, outcome string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.of == nil {
		o.of = map[string]int{}
	}
	o.of[outcome]++
}

func (o *outcomes) count(outcome string) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.of[outcome]
}

// left is how many events are neither handled nor given up.
func left(t *testing.T, q *Queue) int {
	t.Helper()
	n, err := q.EventsLeft(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestAnEventThatFailsComesAgainLaterEachTimeUntilItIsADayOld(t *testing.T) {
	backoff(t, 20*time.Millisecond, 60*time.Millisecond, 180*time.Millisecond)
	var ahead atomic.Int64
	var told outcomes
	q := open(t, func(o *Options) {
		o.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
		o.ObserveEvent = told.note
	})
	var mu sync.Mutex
	var times []time.Time
	var got seen
	publish(t, q, event("poison"), event("good"), event("panic"), event("hopeless"))
	if _, err := q.js.Publish(t.Context(), hooksSubject, []byte("[")); err != nil {
		t.Fatal(err)
	}
	consume(t, q, func(_ context.Context, ev job.Event) error {
		n := got.add(ev.Delivery)
		switch ev.Delivery {
		case "poison":
			mu.Lock()
			defer mu.Unlock()
			times = append(times, time.Now())
			if n > 3 {
				ahead.Add(int64(7 * time.Hour))
			}
			return errors.New("no")
		case "panic":
			if n < 3 {
				panic("oops")
			}
		case "hopeless":
			return fmt.Errorf("it is gone: %w", ErrGiveUp)
		}
		return nil
	})
	// The poison: thrice at once, and after 7, 14, 21 and 28 hours.
	const handings = 7 + 1 + 3 + 1
	eventually(t, "nothing is left", func() bool { return len(got.all()) >= handings && left(t, q) == 0 })
	mu.Lock()
	defer mu.Unlock()
	if len(got.all()) != handings || len(times) != 7 {
		t.Fatalf("%d handings, %d of the poison, want %d and 7: %v", len(got.all()), len(times), handings, got.all())
	}
	for i, least := range eventBackoff {
		if d := times[i+1].Sub(times[i]); d < least {
			t.Errorf("it came again after %v, want %v at least", d, least)
		}
	}
	if h, r, g := told.count(EventHandled), told.count(EventRetried), told.count(EventGivenUp); h != 2 || r != 6+2 || g != 3 {
		t.Errorf("%d handled, %d retried, %d given up; want 2, 8 and 3", h, r, g)
	}
}

func TestTheDefaultPausesAreShortAtFirstAndNeverLong(t *testing.T) {
	total, n := time.Duration(0), 0
	for total+waitAfter(n+1) <= 24*time.Hour {
		n++
		total += waitAfter(n)
		if w := waitAfter(n); w > 15*time.Minute || n > 1 && w < waitAfter(n-1) {
			t.Errorf("the pause after try %d is %v", n, w)
		}
	}
	if n < 96 || n > 110 || failuresIn(24*time.Hour) != n || failuresIn(0) != 0 || failuresIn(time.Second) != 1 {
		t.Errorf("%d tries fit into a day, of which failuresIn counts %d", n, failuresIn(24*time.Hour))
	}
}

func TestAnEventThatFailedComesAgainAfterARestartAndItsDeliveryIsStillKnown(t *testing.T) {
	backoff(t, time.Second)
	dir := t.TempDir()
	at := func(o *Options) { o.Dir = dir }
	q := open(t, at)
	publish(t, q, event("d"))
	var failed seen
	stop := consume(t, q, func(_ context.Context, ev job.Event) error { failed.add(ev.Delivery); return errors.New("no") })
	eventually(t, "it has failed", func() bool { return len(failed.all()) > 0 })
	stop()
	q.Close()

	q = open(t, at)
	if dup, err := q.PublishEvent(t.Context(), event("d")); err != nil || !dup {
		t.Errorf("its delivery again: duplicate %v, %v", dup, err)
	}
	var got seen
	consume(t, q, func(_ context.Context, ev job.Event) error { got.add(ev.Delivery); return nil })
	eventually(t, "it is handled", func() bool { return len(got.all()) > 0 && left(t, q) == 0 })
	if l := got.all(); !slices.Equal(l, []string{"d"}) {
		t.Errorf("handled: %v", l)
	}
}

func TestEventsThatWaitForTheirNextTryHoldUpNoOther(t *testing.T) {
	backoff(t, time.Hour)
	q := open(t)
	const many = maxEvents + 100
	for i := range many {
		publish(t, q, event(fmt.Sprint("bad", i)))
	}
	publish(t, q, event("good"))
	var good, bad seen
	consume(t, q, func(_ context.Context, ev job.Event) error {
		if ev.Delivery == "good" {
			good.add(ev.Delivery)
			return nil
		}
		bad.add(ev.Delivery)
		return errors.New("no")
	})
	eventually(t, "the good one is handled", func() bool { return len(good.all()) == 1 })
	eventually(t, "the others wait", func() bool { return left(t, q) == many })
	if n := len(bad.all()); n != many {
		t.Errorf("%d handings of %d events that wait", n, many)
	}
}

func TestAnEventThatNoHandlerSurvivesIsGivenUp(t *testing.T) {
	backoff(t, time.Hour)
	var told outcomes
	q := open(t, func(o *Options) { o.EventTries, o.ObserveEvent = 2, told.note })
	var got seen
	note := func(_ context.Context, ev job.Event) error { got.add(ev.Delivery); return nil }
	stop := consume(t, q, note)
	publish(t, q, event("before"))
	eventually(t, "the consumer is there", func() bool { return len(got.all()) == 1 })
	stop()
	publish(t, q, event("killer"))
	c, err := q.hooks.Consumer(t.Context(), eventConsumer)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // handed out as to processes that die of it
		m, err := c.Next()
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Nak(); err != nil {
			t.Fatal(err)
		}
	}
	consume(t, q, note)
	publish(t, q, event("good"))
	eventually(t, "the next one is handled", func() bool { return slices.Contains(got.all(), "good") })
	if l := got.all(); len(l) != 2 || told.count(EventGivenUp) != 1 {
		t.Errorf("handled: %v; %d given up", l, told.count(EventGivenUp))
	}
}
