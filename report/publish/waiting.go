package publish

import (
	"context"
	"fmt"
	"sync"

	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/internal/queue"
	"github.com/prbench/prbench/report"
)

// kept is for how many jobs at the front of a pool's line the place is kept true
// on their check runs. Those behind learn of it when they come nearer: a long
// queue must not eat the budget of requests.
const kept = 10

// waiting is the publisher's picture of the line, and what it has told of it.
type waiting struct {
	mu       sync.Mutex
	line     *queue.Line
	told     map[job.ID]string
	prices   map[job.ID]price
	pools    map[string]bool // that were ever waited for
	caughtUp bool
}

func (w *waiting) reset() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.line, w.told, w.prices, w.pools, w.caughtUp = queue.NewLine(), map[job.ID]string{}, map[job.ID]price{}, map[string]bool{}, false
}

// put takes a change in and gives the jobs whose place it may have changed.
func (w *waiting) put(c queue.Change) []job.ID {
	w.mu.Lock()
	defer w.mu.Unlock()
	if c.CaughtUp {
		w.caughtUp = true
		var ids []job.ID
		for pool := range w.pools {
			ids = append(ids, w.front(pool)...)
		}
		return ids
	}
	moved := w.line.Put(c.Job)
	if c.Job.State == job.Queued {
		w.pools[c.Job.Spec.Pool] = true
	} else {
		delete(w.told, c.Job.ID)
		delete(w.prices, c.Job.ID)
	}
	if !moved || !w.caughtUp {
		return nil
	}
	return w.front(c.Job.Spec.Pool)
}

func (w *waiting) front(pool string) []job.ID {
	var ids []job.ID
	for _, j := range w.line.Waiting(pool) {
		if len(ids) < kept {
			ids = append(ids, j.ID)
		}
	}
	return ids
}

func (w *waiting) tell(id job.ID, place string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.told[id] = place
}

// place says where a waiting job stands; "" where that is not known yet.
func (p *Publisher) place(j job.Job) string {
	var limits queue.Limits
	if p.Limits != nil {
		limits = p.Limits(j.Spec.Pool)
	}
	p.line.mu.Lock()
	defer p.line.mu.Unlock()
	if at, ok := p.line.line.Place(j.ID, limits); ok && p.line.caughtUp {
		return at.String()
	}
	return ""
}

// movedUp tells whether a waiting job stands elsewhere than its check run says.
func (p *Publisher) movedUp(j job.Job) bool {
	if j.State != job.Queued {
		return false
	}
	now := p.place(j)
	p.line.mu.Lock()
	defer p.line.mu.Unlock()
	return now != "" && now != p.line.told[j.ID]
}

func (p *Publisher) waitingText(ctx context.Context, j job.Job, place string) string {
	s := fmt.Sprintf("%s against %s waits for a free runner of the pool %s.",
		report.Code(short(j.Head.SHA)), report.Code(short(j.Base.SHA)), report.Code(j.Spec.Pool))
	if place != "" {
		s += " " + place
	}
	// The price is a service: a report does not wait for it.
	cost, err := p.price(ctx, j)
	if err != nil {
		p.Log.With(j.About()...).Warn("no price", "err", err)
		return s
	}
	return s + " " + cost.words(j.Spec)
}
