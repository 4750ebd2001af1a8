package queue

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/prbench/prbench/internal/job"
)

// Line tells where jobs stand that wait. It goes by the records that it is given,
// and by the rule by which jobs are handed out: of the repositories that wait, the
// one that was served longest ago; of its jobs the oldest. What comes later, and
// limits that hold a job back, may change the order. Its methods are not for
// several goroutines at once.
type Line struct {
	jobs   map[job.ID]job.Job  // queued and running
	served map[int64]time.Time // by repository: its newest start
}

// NewLine makes the line of the records.
func NewLine(jobs ...job.Job) *Line {
	l := &Line{jobs: map[job.ID]job.Job{}, served: map[int64]time.Time{}}
	for _, j := range jobs {
		l.Put(j)
	}
	return l
}

// Put takes a record in, and tells whether a job began or ceased to wait or to run
// by it.
func (l *Line) Put(j job.Job) (moved bool) {
	was, known := l.jobs[j.ID]
	if j.Started.After(l.served[j.Repository.ID]) {
		l.served[j.Repository.ID] = j.Started
	}
	if j.State != job.Queued && j.State != job.Running {
		delete(l.jobs, j.ID)
		return known
	}
	l.jobs[j.ID] = j
	return !known || was.State != j.State || was.Held != j.Held
}

// Waiting gives the pool's waiting jobs in the order in which they are to be
// handed out.
func (l *Line) Waiting(pool string) []job.Job {
	waiting := map[int64][]job.Job{}
	n := 0
	for _, j := range l.jobs {
		if j.State == job.Queued && j.Cancel == nil && j.Held == "" && j.Spec.Pool == pool {
			waiting[j.Repository.ID] = append(waiting[j.Repository.ID], j)
			n++
		}
	}
	type turn struct {
		repo  int64
		after time.Time // of its last start
		round int       // and of those that are told here
	}
	var turns []turn
	for repo, js := range waiting {
		slices.SortFunc(js, byAge)
		turns = append(turns, turn{repo: repo, after: l.served[repo]})
	}
	var out []job.Job
	for len(out) < n {
		best := slices.MinFunc(turns, func(a, b turn) int {
			return cmp.Or(cmp.Compare(a.round, b.round), a.after.Compare(b.after), byAge(waiting[a.repo][0], waiting[b.repo][0]))
		})
		i := slices.IndexFunc(turns, func(t turn) bool { return t.repo == best.repo })
		out = append(out, waiting[best.repo][0])
		turns[i].round = len(out)
		if waiting[best.repo] = waiting[best.repo][1:]; len(waiting[best.repo]) == 0 {
			turns = slices.Delete(turns, i, i+1)
		}
	}
	return out
}

// Place is where a waiting job stands in its pool. It says nothing of whose the
// other jobs are.
type Place struct {
	Ahead   int // jobs that are to be handed out before it
	Waiting int // all jobs that wait, this one too
	// PerPerson and PerRepository are the pool's limits on running jobs, where
	// they hold this one back; 0 where they do not.
	PerPerson, PerRepository int
	// Free is when a runner of the pool is expected to be free, by what those that
	// run tell; zero: unknown.
	Free time.Time
	// Try is the number of its last try where that failed, and NotBefore when the
	// next one may begin then; zeros once that is past, and the job waits as others do.
	Try       int
	NotBefore time.Time
}

// Place tells where a job stands; ok is false for one that does not wait.
func (l *Line) Place(id job.ID, limits Limits) (p Place, ok bool) {
	j := l.jobs[id]
	waiting := l.Waiting(j.Spec.Pool)
	p.Waiting = len(waiting)
	if p.Ahead = slices.IndexFunc(waiting, func(w job.Job) bool { return w.ID == id }); p.Ahead < 0 {
		return Place{}, false
	}
	if time.Now().Before(soonAfter(j)) {
		p.Try, p.NotBefore = j.Try, j.NotBefore
	}
	person, repository := 0, 0
	for _, r := range l.jobs {
		if r.State != job.Running || r.Spec.Pool != j.Spec.Pool {
			continue
		}
		if r.Wish.SenderID == j.Wish.SenderID {
			person++
		}
		if r.Repository.ID == j.Repository.ID {
			repository++
		}
		if t := r.Progress.At.Add(r.Progress.Left.Std()); r.Progress.Left > 0 && (p.Free.IsZero() || t.Before(p.Free)) {
			p.Free = t
		}
	}
	if reaches(person, limits.PerPerson) {
		p.PerPerson = limits.PerPerson
	}
	if reaches(repository, limits.PerRepository) {
		p.PerRepository = limits.PerRepository
	}
	return p, true
}

// soonAfter is until when a job may wait for its pause alone: the runner whose try
// failed has it one pause later than others.
func soonAfter(j job.Job) time.Time {
	pauses := DefaultPauses()
	return j.NotBefore.Add(pauses[min(max(j.Try, 1), len(pauses))-1])
}

// String is for the people who wait.
func (p Place) String() string {
	s := "It is the next in line."
	switch {
	case p.Ahead == 1:
		s = "1 job is ahead of it."
	case p.Ahead > 1:
		s = fmt.Sprintf("%d jobs are ahead of it.", p.Ahead)
	}
	if !p.NotBefore.IsZero() {
		s = fmt.Sprintf("Try %d of %d failed on the benchmark machine; the next one begins at %s UTC or soon after. ", p.Try, job.MaxTries, p.NotBefore.UTC().Format("15:04:05")) + s
	}
	switch {
	case p.PerPerson > 0:
		s += fmt.Sprintf(" It waits for another one to end: this pool runs at most %s at a time for one person.", jobs(p.PerPerson))
	case p.PerRepository > 0:
		s += fmt.Sprintf(" It waits for another one to end: this pool runs at most %s at a time for one repository.", jobs(p.PerRepository))
	case p.Ahead == 0 && !p.Free.IsZero():
		s += " A runner is expected to be free at " + p.Free.UTC().Format("15:04") + " UTC."
	}
	return s
}

func jobs(n int) string {
	if n == 1 {
		return "1 job"
	}
	return fmt.Sprintf("%d jobs", n)
}
