package forge

import (
	"context"
	"sync"
	"time"
)

// Clock is the time that pacing and limits go by.
type Clock interface {
	Now() time.Time
	// Sleep returns after d, or earlier with the context's error.
	Sleep(ctx context.Context, d time.Duration) error
}

type systemClock struct{}

func (systemClock) Now() time.Time { return time.Now() }

func (systemClock) Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// GitHub's limits for what creates content: so many mutations of one
// installation in a minute and in an hour.
const (
	perMinute = 80
	perHour   = 500
	// progressShare of an hour's mutations is all that progress may use up;
	// the rest is kept for reports.
	progressShare = perHour * 4 / 5
)

type progressKey struct{}

// AsProgress marks the mutations made with the context as progress, which the
// next one makes stale. Where they would have to wait for others, or where the
// hour's budget runs low, they fail at once with the kind Dropped.
func AsProgress(ctx context.Context) context.Context {
	return context.WithValue(ctx, progressKey{}, true)
}

// pacer keeps one installation's mutations apart and within GitHub's limits,
// and holds its requests back while GitHub has told it to stay away.
type pacer struct {
	clock Clock
	gap   time.Duration // not positive: no pacing

	mu      sync.Mutex
	turns   []time.Time // of the last hour's mutations, oldest first
	blocked time.Time   // no request before this
	kind    Kind        // the limit that blocks
	budget  Budget      // as the last answer said
}

// turn is when a mutation may leave, not before now; the caller holds mu.
func (p *pacer) turn(now time.Time) time.Time {
	for len(p.turns) > 0 && now.Sub(p.turns[0]) >= time.Hour {
		p.turns = p.turns[1:]
	}
	at := now
	for n, distance := range map[int]time.Duration{1: p.gap, perMinute: time.Minute, perHour: time.Hour} {
		if len(p.turns) < n {
			continue
		}
		if free := p.turns[len(p.turns)-n].Add(distance); free.After(at) {
			at = free
		}
	}
	return at
}

// wait returns when the request may leave. It reserves the mutation's turn
// before sleeping, so that callers leave in the order of their arrival.
func (p *pacer) wait(ctx context.Context, mutation bool) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	p.mu.Lock()
	now := p.clock.Now()
	err := p.held(now)
	turn := now
	if err == nil && mutation && p.gap > 0 {
		turn = p.turn(now)
		if ctx.Value(progressKey{}) != nil && (turn.After(now) || len(p.turns) >= progressShare) {
			wait := turn.Sub(now)
			if len(p.turns) >= progressShare {
				wait = max(wait, time.Minute)
			}
			err = &Error{Class: Class{Kind: Dropped, Retryable: true, RetryAfter: wait}, Message: "not sent: progress gives way to reports"}
		} else {
			p.turns = append(p.turns, turn)
		}
	}
	p.mu.Unlock()
	if err != nil || !turn.After(now) {
		return err
	}
	if err := p.clock.Sleep(ctx, turn.Sub(now)); err != nil {
		return err
	}
	// A limit may have been met by those who left before.
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.held(p.clock.Now())
}

// held is the error of a request that a limit holds back; the caller holds mu.
func (p *pacer) held(now time.Time) error {
	left := p.blocked.Sub(now)
	if left <= 0 {
		return nil
	}
	return &Error{
		Class:   Class{Kind: p.kind, RetryAfter: left, Retryable: true},
		Message: "not sent: the forge's limit still holds",
	}
}

// learn remembers a limit that an answer reported.
func (p *pacer) learn(c Class) {
	switch c.Kind {
	case PrimaryLimit, SecondaryLimit, TooManyRequests:
	default:
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if until := p.clock.Now().Add(c.RetryAfter); until.After(p.blocked) {
		p.blocked, p.kind = until, c.Kind
	}
}
