package publish

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/prbench/prbench/internal/job"
)

// agenda holds the jobs that want attention, each once, with the time from
// which it may have it. The jobs of one pull request share comments, so that one
// of them is handed out at a time.
type agenda struct {
	mu     sync.Mutex
	due    map[job.ID]time.Time
	rest   map[job.ID]time.Time // after a failure: not before this
	busy   map[string]bool      // by pull request
	wake   chan struct{}
	closed bool
}

func newAgenda() *agenda {
	return &agenda{due: map[job.ID]time.Time{}, rest: map[job.ID]time.Time{}, busy: map[string]bool{}, wake: make(chan struct{}, 1)}
}

// pullOf is the part of a job's ID that its pull request shares.
func pullOf(id job.ID) string {
	s := string(id)
	return s[:max(0, strings.LastIndexByte(s, '.'))]
}

// add asks for attention from a time on; an earlier time already set stays. A
// job whose last try failed rests first, whatever changes: noting the failure is
// a change itself.
func (a *agenda) add(id job.ID, at time.Time) {
	a.mu.Lock()
	if rest := a.rest[id]; rest.After(at) {
		at = rest
	}
	if old, ok := a.due[id]; !ok || at.Before(old) {
		a.due[id] = at
	}
	a.mu.Unlock()
	a.ring()
}

// rested ends a job's rest.
func (a *agenda) rested(id job.ID) {
	a.mu.Lock()
	delete(a.rest, id)
	if _, ok := a.due[id]; ok {
		a.due[id] = time.Now()
	}
	a.mu.Unlock()
	a.ring()
}

func (a *agenda) ring() {
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

func (a *agenda) close() {
	a.mu.Lock()
	a.closed = true
	a.mu.Unlock()
	a.ring()
}

// next waits for a job whose time has come.
func (a *agenda) next(ctx context.Context) (job.ID, bool) {
	for {
		id, wait, ok := a.take(time.Now())
		if ok || ctx.Err() != nil {
			a.ring() // another worker may find work too, or must see the end
			return id, ok
		}
		timer := time.NewTimer(wait)
		select {
		case <-a.wake:
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
	}
}

// take gives the job that is due longest, or how long there is nothing to do.
func (a *agenda) take(now time.Time) (id job.ID, wait time.Duration, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	wait = time.Hour
	if a.closed {
		return "", wait, false
	}
	var first time.Time
	for candidate, at := range a.due {
		if a.busy[pullOf(candidate)] {
			continue
		}
		if !ok || at.Before(first) {
			id, first, ok = candidate, at, true
		}
	}
	if !ok {
		return "", wait, false
	}
	if first.After(now) {
		return "", first.Sub(now), false
	}
	delete(a.due, id)
	a.busy[pullOf(id)] = true
	return id, 0, true
}

// finished frees the job; with again > 0 its try failed, and it wants another
// look after that, not earlier.
func (a *agenda) finished(id job.ID, again time.Duration) {
	a.mu.Lock()
	delete(a.busy, pullOf(id))
	delete(a.rest, id)
	if again > 0 {
		rest := time.Now().Add(again)
		a.rest[id] = rest
		if due, ok := a.due[id]; !ok || due.Before(rest) {
			a.due[id] = rest
		}
	}
	a.mu.Unlock()
	a.ring()
}
