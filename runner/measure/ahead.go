package measure

import (
	"context"
	"slices"

	"github.com/prbench/prbench/internal/job"
)

// step is one run to come: a case on one of its sides. The zero value is none.
type step struct {
	c    Case
	side job.SideName
}

func (s step) none() bool { return s.side == "" }

func (s step) is(o step) bool {
	return s.side == o.side && s.c.Name == o.c.Name && s.c.Suite.Name == o.c.Suite.Name
}

// ahead is a process that is made ready before its turn. It is a guess which one
// will be next: a case can end with a run, and the measuring too.
type ahead struct {
	step step
	done chan struct{} // closed when the rest is set
	w    waiting
	err  error
}

// make begins to make a process ready.
func (r *runner) make(ctx context.Context, s step) *ahead {
	a := &ahead{step: s, done: make(chan struct{})}
	go func() {
		defer close(a.done)
		a.w, a.err = r.prepare(ctx, s)
	}()
	return a
}

// ready gives the process for s, made before or now. Where nothing may be made
// while s runs, next is made ready too: sandboxes that are made at the same time
// take little longer than one.
func (r *runner) ready(ctx context.Context, s, next step) (waiting, error) {
	a := r.ahead
	if a == nil || !a.step.is(s) {
		if err := r.leaveAhead(); err != nil {
			return waiting{}, err
		}
		a = r.make(ctx, s)
	}
	r.ahead = nil
	if !next.none() && !r.Exec.Ahead() {
		r.ahead = r.make(ctx, next)
		<-r.ahead.done
	}
	<-a.done
	return a.w, a.err
}

// leaveAhead gives up a process that was made ready for nothing.
func (r *runner) leaveAhead() error {
	a := r.ahead
	if a == nil {
		return nil
	}
	r.ahead = nil
	<-a.done
	if a.err != nil {
		return nil // it has cleared up after itself, and nobody misses it
	}
	return a.w.discard()
}

// sides gives the order of the sides in the turn's next pair, which is drawn once.
func (l *loop) sides(t *turn) []job.SideName {
	if t.order == nil {
		t.order = slices.Clone(t.Sides)
		if len(t.order) == 2 && l.Rand.IntN(2) == 1 {
			t.order[0], t.order[1] = t.order[1], t.order[0]
		}
	}
	return t.order
}

// after gives what is likely to run next, while a pair of t runs of which rest is
// still to come, and is to be made ready meanwhile; the zero step for nothing.
func (l *loop) after(t *turn, rest []job.SideName, until int) step {
	if len(rest) > 0 {
		return step{t.Case, rest[0]}
	}
	if !l.Exec.Ahead() {
		return step{} // it would wait for long, to no avail
	}
	at := slices.Index(l.turns, t)
	for n := range l.turns {
		next := l.turns[(at+1+n)%len(l.turns)]
		pairs := next.pairs
		if next == t {
			pairs++
		}
		if !next.active() || pairs >= min(until, l.planned(next)) {
			continue
		}
		if l.before.take(next.Case, pairs) != nil {
			return step{}
		}
		return step{next.Case, l.sides(next)[0]}
	}
	return step{}
}
