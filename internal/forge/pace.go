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

// pacer keeps one installation's mutations apart, and holds its requests back
// while GitHub has told it to stay away.
type pacer struct {
	clock Clock
	gap   time.Duration

	mu      sync.Mutex
	next    time.Time // when the next mutation may leave
	blocked time.Time // no request before this
	kind    Kind      // the limit that blocks
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
		if p.next.After(now) {
			turn = p.next
		}
		p.next = turn.Add(p.gap)
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
