package queue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/prbench/prbench/internal/job"
)

// longestWait is how long a claim may wait for a job.
const longestWait = 10 * time.Second

// claim answers a runner that has nothing to do. That it asks says that it holds
// nothing: a job that its key still holds was lost with the process that had it.
func (d *desk) claim(ctx context.Context, who Runner, r request) answer {
	mine := func(j job.Job) bool { return j.State == job.Running && j.Runner == who.Key }
	for _, j := range d.index.find(mine) {
		after, rev, err := d.q.lose(ctx, j.ID, "the runner started anew", mine)
		if err != nil {
			return d.fault(askClaim, r, err)
		}
		d.swept(j, after, rev, nil)
	}
	w := d.arrive(who.Key)
	defer d.leave(who.Key, w)
	wait := time.NewTimer(min(max(time.Duration(r.WaitMS)*time.Millisecond, 0), longestWait))
	defer wait.Stop()
	for {
		opened := d.index.openings()
		j, ok, err := d.claimNow(ctx, who)
		switch {
		case errors.Is(err, errNotEnrolled):
			return failed(codeRefused, err.Error())
		case err != nil:
			return d.fault(askClaim, r, err)
		case ok:
			return answer{Job: &j, LeaseMS: j.LeaseEnd.Sub(j.Started).Milliseconds()}
		}
		var look <-chan time.Time
		if d.index.pausing(who.Pool, who.Key) {
			look = time.After(pauseLook)
		}
		select {
		case <-look:
		case <-wait.C:
			return answer{}
		case <-w.gone:
			return answer{}
		case <-ctx.Done():
			return answer{}
		case <-opened:
		}
		select { // of several reasons select picks any; going comes first
		case <-w.gone:
			return answer{}
		case <-ctx.Done():
			return answer{}
		default:
		}
	}
}

// waiter is a claim that waits for a job.
type waiter struct {
	gone chan struct{} // closed when its runner no longer waits
}

// arrive makes this the one claim of the runner that waits here: a runner that
// asks again has given up on its former question.
func (d *desk) arrive(key string) *waiter {
	d.mu.Lock()
	defer d.mu.Unlock()
	if former := d.waiting[key]; former != nil {
		close(former.gone)
	}
	w := &waiter{gone: make(chan struct{})}
	d.waiting[key] = w
	return w
}

// leave ends the claim of the runner that waits, or, with a waiter, that one only.
func (d *desk) leave(key string, w *waiter) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if now := d.waiting[key]; now != nil && (w == nil || w == now) {
		close(now.gone)
		delete(d.waiting, key)
	}
}

// claimNow hands out a job if there is one for the runner. Once begun it is not
// broken off: a record would be left of which no runner was told.
func (d *desk) claimNow(ctx context.Context, who Runner) (job.Job, bool, error) {
	d.claiming.Lock()
	defer d.claiming.Unlock()
	limits := d.q.opts.Limits(who.Pool)
	passed := map[job.ID]bool{}
	for {
		j, ok := d.index.next(who.Pool, who.Key, limits, passed)
		if !ok {
			return job.Job{}, false, nil
		}
		handed, rev, err := d.q.handOut(context.WithoutCancel(ctx), j.ID, who)
		if errors.Is(err, errTaken) {
			passed[j.ID] = true // another serve was first
			continue
		}
		if err != nil {
			return job.Job{}, false, fmt.Errorf("hand out job %s: %w", j.ID, err)
		}
		d.index.apply(handed, rev)
		if err := d.stillEnrolled(ctx, who); err != nil {
			return job.Job{}, false, errors.Join(err, d.takeBack(ctx, handed))
		}
		within, err := d.withinLimits(ctx, handed, rev, limits)
		if err != nil {
			return job.Job{}, false, err
		}
		if within {
			d.q.log.With(handed.About()...).Info("handed out", "runner", who.Name)
			return handed, true, nil
		}
	}
}

// withinLimits looks at the limits again when all claims before this one are
// known: two serves may have handed out a person's last permitted job at the
// same moment, and the later one takes it back.
func (d *desk) withinLimits(ctx context.Context, handed job.Job, revision uint64, limits Limits) (bool, error) {
	if limits == (Limits{}) {
		return true, nil
	}
	known := d.knownUpTo(ctx, revision)
	if known && !d.index.overrun(handed, revision, limits) {
		return true, nil
	}
	if err := d.takeBack(ctx, handed); err != nil {
		return false, err
	}
	if !known {
		return false, errors.New("the watch of the jobs is behind")
	}
	return false, nil
}

func (d *desk) takeBack(ctx context.Context, handed job.Job) error {
	j, rev, err := d.q.takeBack(context.WithoutCancel(ctx), handed)
	if err != nil && !errors.Is(err, errTaken) {
		return fmt.Errorf("take job %s back: %w", handed.ID, err)
	}
	d.index.apply(j, rev)
	return nil
}

var errNotEnrolled = errors.New("this key is not enrolled")

// stillEnrolled reads the runner again, whose claim may have waited long. It comes
// after the handing out: whoever revokes the runner later finds the job with it.
func (d *desk) stillEnrolled(ctx context.Context, who Runner) error {
	now, err := d.q.runner(context.WithoutCancel(ctx), who.Key)
	switch {
	case errors.Is(err, ErrNotFound):
		return errNotEnrolled
	case err != nil:
		return err
	case now.Pool != who.Pool:
		return fmt.Errorf("runner %s has moved from pool %s to %s", who.Name, who.Pool, now.Pool)
	}
	return nil
}

// knownUpTo waits until the index has all revisions up to this one.
func (d *desk) knownUpTo(ctx context.Context, revision uint64) bool {
	late := time.NewTimer(5 * time.Second)
	defer late.Stop()
	for {
		ok, stepped := d.index.reached(revision)
		if ok {
			return true
		}
		select {
		case <-stepped:
		case <-late.C:
			return false
		case <-ctx.Done():
			return false
		}
	}
}
