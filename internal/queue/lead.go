package queue

import (
	"context"
	crand "crypto/rand"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Lead calls work while this process holds the lease of that name, of which
// there is one holder at a time among all serves of a store. It waits for the
// lease, renews it, and ends the context of work when it is lost, to begin again
// from waiting once work has returned. It returns when ctx is done, with nil, or
// when work returns of itself, with its error; the lease is given back then.
//
// A holder that dies is followed after Options.LeadLease. A holder that is
// merely cut off may work on until it has noticed, for less than that time: what
// it writes must bear that, as compare and swap does.
func (q *Queue) Lead(ctx context.Context, name string, work func(context.Context) error) error {
	if !namePattern.MatchString(name) {
		return fmt.Errorf("lead %q: want a name of letters, digits, - and _", name)
	}
	l := lease{q: q, name: name, holder: []byte(crand.Text())}
	for ctx.Err() == nil {
		if !l.take(ctx) {
			d := q.opts.LeadLease / 10
			_ = pause(ctx, d+rand.N(d+1))
			continue
		}
		q.log.Debug("leading", "name", name)
		lost, err := l.hold(ctx, work)
		if !lost {
			return err
		}
		q.log.Warn("no longer leading", "name", name)
	}
	return nil
}

// lease is one candidate's view of a lease. It goes by its own clock alone: a
// lease whose record has not changed for the whole time has no living holder.
type lease struct {
	q      *Queue
	name   string
	holder []byte

	revision uint64    // of the record, ours when we hold it
	since    time.Time // when that revision was first seen
}

// take tries once.
func (l *lease) take(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, l.q.opts.LeadLease/2)
	defer cancel()
	e, err := l.q.leases.Get(ctx, l.name)
	switch {
	case errors.Is(err, jetstream.ErrKeyNotFound):
		rev, err := l.q.leases.Create(ctx, l.name, l.holder)
		l.revision = rev
		return err == nil
	case err != nil:
		return false
	case e.Revision() != l.revision:
		l.revision, l.since = e.Revision(), time.Now()
		return false
	case time.Since(l.since) < l.q.opts.LeadLease:
		return false
	}
	rev, err := l.q.leases.Update(ctx, l.name, l.holder, l.revision)
	if err != nil {
		return false
	}
	l.revision = rev
	return true
}

func (l *lease) hold(ctx context.Context, work func(context.Context) error) (lost bool, err error) {
	working, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- work(working) }()
	ttl := l.q.opts.LeadLease
	renewed := time.Now()
	tick := time.NewTicker(ttl / 5)
	defer tick.Stop()
	for {
		select {
		case err := <-done:
			l.giveBack()
			if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
				err = nil
			}
			return false, err
		case <-tick.C:
		}
		start := time.Now()
		renewal, stop := context.WithTimeout(ctx, ttl/5)
		rev, err := l.q.leases.Update(renewal, l.name, l.holder, l.revision)
		stop()
		switch {
		case err == nil:
			l.revision, renewed = rev, start
			continue
		case ctx.Err() != nil:
			continue // work is about to return
		case errors.Is(err, jetstream.ErrKeyRevisionMismatch) && !l.mine(ctx):
		case time.Since(renewed) < ttl*3/5:
			continue
		}
		cancel()
		<-done
		l.revision = 0
		return true, nil
	}
}

// mine tells whether the record is still ours: a renewal may have arrived though
// its answer did not.
func (l *lease) mine(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, l.q.opts.LeadLease/5)
	defer cancel()
	e, err := l.q.leases.Get(ctx, l.name)
	if err != nil || string(e.Value()) != string(l.holder) {
		return false
	}
	l.revision = e.Revision()
	return true
}

func (l *lease) giveBack() {
	// The caller's context may be done, and the lease is to be given back all the same.
	ctx, cancel := context.WithTimeout(context.Background(), l.q.opts.LeadLease/5)
	defer cancel()
	_ = l.q.leases.Delete(ctx, l.name, jetstream.LastRevision(l.revision)) // else it ends by itself
}
