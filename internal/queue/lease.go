package queue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/prbench/prbench/internal/job"
)

// firstLease is the lease until the first beat, so that a job handed to a runner
// that went away while it asked is not lost for the whole lease.
const firstLease = time.Minute

// leaseClock tells when leases end. A lease runs by the time that has passed
// since this serve saw its record change, not by the time that stands in the
// record: a clock that is set forward takes no job from a runner that lives, and
// one that is set back keeps none for a runner that is dead.
type leaseClock struct {
	elapsed func() time.Duration // never set
	now     func() time.Time
	lease   time.Duration
	pause   time.Duration // the longest after a fault
	// told is whether changes are seen as they are made. A record from before this
	// serve began was changed some time ago, and only its own time says when.
	told bool
}

// first is the lease until the first beat.
func (c *leaseClock) first() time.Duration { return min(firstLease, c.lease) }

// end is when the lease of a record that is seen for the first time ends. A
// runner that lives is heard of within the first lease even where the time in
// the record is long past: serve was away, or the clock was set meanwhile.
func (c *leaseClock) end(j job.Job) time.Duration {
	length := c.lease
	switch {
	case !c.told:
		length = min(max(j.LeaseEnd.Sub(c.now()), c.first()), c.lease)
	case j.LeaseEnd.Equal(j.Started.Add(c.first())):
		length = c.first()
	}
	return c.elapsed() + length
}

// sameLease tells whether no beat came between two records of a running job.
func sameLease(a, b job.Job) bool { return a.Try == b.Try && a.LeaseEnd.Equal(b.LeaseEnd) }

// errTaken: the job is no longer there to be claimed.
var errTaken = errors.New("taken")

// handOut makes the runner the holder of the job's next try.
func (q *Queue) handOut(ctx context.Context, id job.ID, r Runner) (job.Job, uint64, error) {
	return q.update(ctx, id, func(j *job.Job) error {
		if j.State != job.Queued || j.Cancel != nil || j.Held != "" || j.Spec.Pool != r.Pool {
			return errTaken
		}
		j.State = job.Running
		j.Try++
		j.Runner, j.RunnerName = r.Key, r.Name
		j.Started = q.now()
		j.LeaseEnd = j.Started.Add(min(firstLease, q.opts.Lease))
		j.Progress = job.Progress{}
		j.NotBefore = time.Time{}
		return nil
	})
}

// takeBack undoes a hand-out of which no runner has been told.
func (q *Queue) takeBack(ctx context.Context, handed job.Job) (job.Job, uint64, error) {
	return q.update(ctx, handed.ID, func(j *job.Job) error {
		if !holds(*j, handed.Runner, handed.Try) {
			return errTaken
		}
		j.State = job.Queued
		j.Try--
		j.Runner, j.RunnerName = "", ""
		j.Started, j.LeaseEnd = time.Time{}, time.Time{}
		return nil
	})
}

// holds tells whether the runner with this key holds this try of the job.
func holds(j job.Job, key string, try int) bool {
	return j.State == job.Running && j.Runner == key && j.Try == try
}

// lose ends a try that will not end by itself: the next one is queued, or, when
// there have been enough or the job was cancelled, the fault goes to the
// publisher. It does nothing to a record that does not satisfy lost.
func (q *Queue) lose(ctx context.Context, id job.ID, why string, lost func(job.Job) bool) (job.Job, uint64, error) {
	return q.update(ctx, id, func(j *job.Job) error {
		if j.State != job.Running || !lost(*j) {
			return ErrUnchanged
		}
		q.endTry(j, job.Outcome{Kind: job.Fault, Text: why}, false)
		return nil
	})
}

// endTry applies the outcome of the try that runs. A runner that has told it lives,
// and would ask for the job again in the next moment, in the same trouble.
func (q *Queue) endTry(j *job.Job, o job.Outcome, told bool) {
	j.LeaseEnd = time.Time{}
	o.Clash = o.Clash.After(j.Clash)
	j.Clash = o.Clash
	if o.Kind == job.Fault {
		j.LostTries = append(j.LostTries, fmt.Sprintf("try %d on %s: %s", j.Try, j.RunnerName, o.Text))
		if j.Cancel != nil {
			o.Kind = job.Stopped
		} else if j.Try < job.MaxTries {
			j.State = job.Queued
			j.Progress = job.Progress{}
			if told && !o.Again { // without a pause too: it tells a try that failed from one that was lost
				j.NotBefore = q.now().Add(q.opts.pauseAfter(j.Try))
			}
			return
		}
	}
	j.State = job.Publishing
	j.Outcome = &o
	j.Finished = q.now()
}

// loseJobsOf loses what a runner holds. It reads the bucket, so that it needs no
// index: an enrolling command has none.
func (q *Queue) loseJobsOf(ctx context.Context, key, why string) error {
	js, err := q.ByState(ctx, job.Running)
	if err != nil {
		return err
	}
	for _, j := range js {
		if j.Runner != key {
			continue
		}
		if _, _, err := q.lose(ctx, j.ID, why, func(j job.Job) bool { return j.Runner == key }); err != nil {
			return err
		}
	}
	return nil
}

// sweepEvery is how often the leases are looked at.
func (q *Queue) sweepEvery() time.Duration {
	return min(max(q.opts.Lease/100, 10*time.Millisecond), 5*time.Second)
}

func (d *desk) sweepAlways(ctx context.Context) {
	for pause(ctx, d.q.sweepEvery()) == nil {
		d.sweep(ctx)
	}
}

// sweep loses the tries whose lease has ended, and ends what was cancelled while
// it waited.
func (d *desk) sweep(ctx context.Context) {
	for _, j := range d.index.expired() {
		after, rev, err := d.q.lose(ctx, j.ID, "the runner was not heard of", func(now job.Job) bool { return sameLease(j, now) })
		d.swept(j, after, rev, err)
	}
	cancelled := func(j job.Job) bool { return j.State == job.Queued && j.Cancel != nil }
	for _, j := range d.index.find(cancelled) {
		after, rev, err := d.q.update(ctx, j.ID, func(j *job.Job) error {
			if !cancelled(*j) {
				return ErrUnchanged
			}
			j.State, j.Finished = job.Cancelled, d.q.now()
			return nil
		})
		d.swept(j, after, rev, err)
	}
}

func (d *desk) swept(before, after job.Job, rev uint64, err error) {
	if err != nil {
		d.q.log.With(before.About()...).Warn("a job could not be swept", "error", err)
		return
	}
	d.index.apply(after, rev)
	if len(after.LostTries) > len(before.LostTries) || after.State == job.Cancelled {
		d.q.log.With(before.About()...).Info("swept", "runner", before.RunnerName, "state", after.State)
	}
}
