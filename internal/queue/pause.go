package queue

import (
	"slices"
	"time"

	"github.com/prbench/prbench/internal/job"
)

// A try that fails by no fault of the code is followed by another. Most such
// troubles pass, of the forge, the network, or one machine: the next try waits for
// that, and another runner of the pool has the first right to it.

// DefaultPauses are how long a job waits after a try that failed, by the number of
// the try.
func DefaultPauses() []time.Duration { return []time.Duration{30 * time.Second, 2 * time.Minute} }

func (o Options) pauseAfter(try int) time.Duration {
	if try < 1 || len(o.Pauses) == 0 {
		return 0
	}
	return o.Pauses[min(try, len(o.Pauses))-1]
}

func (o Options) longestPause() time.Duration {
	if len(o.Pauses) == 0 {
		return 0
	}
	return slices.Max(o.Pauses)
}

// heardLately is for how long a runner that asked for something is taken to be
// there: one that waits for a job, or holds one, asks more often.
const heardLately = time.Minute

// pauseLook is how often is looked whether a job's pause is over.
const pauseLook = 250 * time.Millisecond

// present is a runner that has asked for something.
type present struct {
	pool string
	at   time.Duration // by the lease clock
}

// heard notes that a runner is there.
func (x *index) heard(r Runner) {
	x.mu.Lock()
	defer x.mu.Unlock()
	now := x.leases.elapsed()
	for key, p := range x.present {
		if now-p.at > heardLately {
			delete(x.present, key)
		}
	}
	x.present[r.Key] = present{r.Pool, now}
}

// others tells whether a pool has a runner beside this one.
func (x *index) others(pool, key string) bool {
	now := x.leases.elapsed()
	for k, p := range x.present {
		if k != key && p.pool == pool && now-p.at <= heardLately {
			return true
		}
	}
	return false
}

// paused notes how long a waiting job is not to be handed out. Like a lease it
// goes by the time that passes: no change of a clock makes it longer.
func (x *index) paused(e, old *indexed) {
	switch j := e.job; {
	case j.State != job.Queued || j.NotBefore.IsZero():
	case old != nil && old.job.State == job.Queued && old.job.NotBefore.Equal(j.NotBefore):
		e.pause, e.ripe = old.pause, old.ripe
	default:
		e.pause = min(max(j.NotBefore.Sub(x.leases.now()), 0), x.leases.pause)
		e.ripe = x.leases.elapsed() + e.pause
	}
}

// isRipe tells whether a waiting job's pause is over for the runner with this key.
// The one whose try failed waits twice as long where there is another.
func (x *index) isRipe(e *indexed, key string) bool {
	until := e.ripe
	if e.job.Runner == key && x.others(e.job.Spec.Pool, key) {
		until += e.pause
	}
	return x.leases.elapsed() >= until
}

// pausing tells whether a job of the pool waits for its pause to end.
func (x *index) pausing(pool, key string) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, e := range x.jobs {
		if e.job.State == job.Queued && e.job.Spec.Pool == pool && !x.isRipe(e, key) {
			return true
		}
	}
	return false
}
