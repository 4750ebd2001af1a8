package queue

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/prbench/prbench/internal/job"
)

// index is a serve's picture of the waiting and the running jobs, made from a
// watch of the jobs bucket. It may be a moment old: what is decided by it is
// done by compare and swap.
type index struct {
	mu      sync.Mutex
	jobs    map[job.ID]*indexed
	served  map[int64]uint64 // by repository: the revision of its newest claim
	applied uint64           // all revisions up to this one are in
	stepped chan struct{}    // closed when applied moves
	opened  chan struct{}    // closed when a job may have become one to hand out
	leases  leaseClock
	present map[string]present // by runner's key
}

type indexed struct {
	job      job.Job
	revision uint64
	// claimed is the revision at which the present try was handed out.
	claimed uint64
	// ends is when the present lease ends, by the lease clock's elapsed time.
	ends time.Duration
	// ripe is when a waiting job may be handed out, by the same time, and pause how
	// long it waited for that.
	ripe, pause time.Duration
}

func newIndex(leases leaseClock) *index {
	return &index{jobs: map[job.ID]*indexed{}, served: map[int64]uint64{}, present: map[string]present{},
		stepped: make(chan struct{}), opened: make(chan struct{}), leases: leases}
}

// apply takes a record in. One that is older than what is known is passed over:
// this serve's own writes come in before the watch tells them.
func (x *index) apply(j job.Job, revision uint64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.put(j, revision)
}

// caughtUp says that all that was there has been taken in, and what comes now
// is what changes.
func (x *index) caughtUp() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.leases.told = true
}

// watched takes in what the watch tells, in the order of the revisions.
func (x *index) watched(c Change) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.put(c.Job, c.revision)
	x.applied = max(x.applied, c.revision)
	close(x.stepped)
	x.stepped = make(chan struct{})
}

func (x *index) put(j job.Job, revision uint64) {
	old := x.jobs[j.ID]
	if old != nil && revision <= old.revision {
		return
	}
	var was job.State
	if old != nil {
		was = old.job.State
	}
	if j.State == job.Queued || was == job.Running && j.State != was {
		close(x.opened)
		x.opened = make(chan struct{})
	}
	if j.State != job.Queued && j.State != job.Running {
		delete(x.jobs, j.ID)
		return
	}
	e := &indexed{job: j, revision: revision}
	x.paused(e, old)
	if j.State == job.Running {
		if was == job.Running && old.job.Try == j.Try {
			e.claimed = old.claimed
		} else {
			e.claimed = revision
		}
		if was == job.Running && sameLease(old.job, j) {
			e.ends = old.ends
		} else {
			e.ends = x.leases.end(j)
		}
		x.served[j.Repository.ID] = max(x.served[j.Repository.ID], e.claimed)
	}
	x.jobs[j.ID] = e
}

// openings gives a channel that is closed when there may be a job to hand out
// that there was not before.
func (x *index) openings() <-chan struct{} {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.opened
}

// reached tells whether all revisions up to this one are in, and else gives a
// channel that is closed with the next one.
func (x *index) reached(revision uint64) (bool, <-chan struct{}) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.applied >= revision, x.stepped
}

// next picks the job of the pool to hand out: of the repositories that wait, the
// one that was served longest ago; of its jobs the oldest one that the limits
// let run. passed are jobs not to be picked, and neither are those that pause for
// the runner with this key.
func (x *index) next(pool, key string, limits Limits, passed map[job.ID]bool) (job.Job, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	persons, repos := x.running(pool, ^uint64(0))
	var best *indexed
	for _, e := range x.jobs {
		j := &e.job
		if j.State != job.Queued || j.Cancel != nil || j.Held != "" || j.Spec.Pool != pool || passed[j.ID] || !x.isRipe(e, key) {
			continue
		}
		if reaches(persons[j.Wish.SenderID], limits.PerPerson) || reaches(repos[j.Repository.ID], limits.PerRepository) {
			continue
		}
		if best == nil || x.before(e, best) {
			best = e
		}
	}
	if best == nil {
		return job.Job{}, false
	}
	return best.job, true
}

func (x *index) before(a, b *indexed) bool {
	return cmp.Or(
		cmp.Compare(x.served[a.job.Repository.ID], x.served[b.job.Repository.ID]),
		byAge(a.job, b.job)) < 0
}

// running counts the pool's running jobs that were claimed before a revision, by
// person and by repository.
func (x *index) running(pool string, before uint64) (persons, repos map[int64]int) {
	persons, repos = map[int64]int{}, map[int64]int{}
	for _, e := range x.jobs {
		if e.job.State == job.Running && e.job.Spec.Pool == pool && e.claimed < before {
			persons[e.job.Wish.SenderID]++
			repos[e.job.Repository.ID]++
		}
	}
	return persons, repos
}

// overrun tells whether the claim of j at a revision went beyond the limits,
// because another serve's claim, unknown then, came before it.
func (x *index) overrun(j job.Job, revision uint64, limits Limits) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	persons, repos := x.running(j.Spec.Pool, revision)
	return reaches(persons[j.Wish.SenderID], limits.PerPerson) || reaches(repos[j.Repository.ID], limits.PerRepository)
}

func reaches(n, limit int) bool { return limit > 0 && n >= limit }

// expired gives the running jobs whose lease has ended, oldest first.
func (x *index) expired() []job.Job {
	x.mu.Lock()
	defer x.mu.Unlock()
	now := x.leases.elapsed()
	var js []job.Job
	for _, e := range x.jobs {
		if e.job.State == job.Running && now > e.ends {
			js = append(js, e.job)
		}
	}
	slices.SortFunc(js, byAge)
	return js
}

// find gives the jobs for which want holds, oldest first.
func (x *index) find(want func(job.Job) bool) []job.Job {
	x.mu.Lock()
	defer x.mu.Unlock()
	var js []job.Job
	for _, e := range x.jobs {
		if want(e.job) {
			js = append(js, e.job)
		}
	}
	slices.SortFunc(js, byAge)
	return js
}
