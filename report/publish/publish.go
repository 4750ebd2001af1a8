// Package publish is the last stage of a request's way: it keeps GitHub's
// comment, check run and reactions true to a job's record. It is a reconciler:
// any record whose published revision is behind its revision is brought true,
// at a change and at every start, and doing it twice shows once.
package publish

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/prbench/prbench/internal/forge"
	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/internal/queue"
)

// Hub is what the publisher asks of GitHub, as one installation.
// *forge.Client is one.
type Hub interface {
	ReactToComment(ctx context.Context, r forge.Repo, id int64, content string) error
	Comment(ctx context.Context, r forge.Repo, id int64) (forge.Comment, error)
	FindComment(ctx context.Context, r forge.Repo, number int, marker string) (forge.Comment, bool, error)
	CreateComment(ctx context.Context, r forge.Repo, number int, body string) (forge.Comment, error)
	EditComment(ctx context.Context, r forge.Repo, id int64, body string) (forge.Comment, error)
	FindCheckRun(ctx context.Context, r forge.Repo, sha, externalID string) (forge.CheckRunState, bool, error)
	CreateCheckRun(ctx context.Context, r forge.Repo, run forge.CheckRun) (int64, error)
	CheckRunByID(ctx context.Context, r forge.Repo, id int64) (forge.CheckRunState, error)
	UpdateCheckRun(ctx context.Context, r forge.Repo, id int64, run forge.CheckRun) error
	SetStatus(ctx context.Context, r forge.Repo, sha string, s forge.Status) error
	RemoveLabel(ctx context.Context, r forge.Repo, number int, label string) error
	RepositoryByID(ctx context.Context, id int64) (forge.Repository, error)
}

// Store holds the jobs and their samples. *queue.Queue is one.
type Store interface {
	Get(ctx context.Context, id job.ID) (job.Job, error)
	List(ctx context.Context, repoID int64, pr int) ([]job.Job, error)
	Update(ctx context.Context, id job.ID, change func(*job.Job) error) (job.Job, error)
	// Watch gives every job as it is, then as it changes, until ctx ends.
	Watch(ctx context.Context) (<-chan queue.Change, error)
	// Runs reads the process records of one try.
	Runs(ctx context.Context, runner string, id job.ID, try int) iter.Seq2[job.Run, error]
	// Accepts are the regressions that are accepted in a repository.
	Accepts(ctx context.Context, repoID int64) ([]job.Accepted, error)
	// HasRecord tells whether a job's record is kept, and PutRecord keeps it, once.
	HasRecord(ctx context.Context, id job.ID) (bool, error)
	PutRecord(ctx context.Context, id job.ID, record []byte, samples io.Reader) error
	// RecordSamples reads the samples of a job's record; queue.ErrNotFound: none are kept.
	RecordSamples(ctx context.Context, id job.ID) (io.ReadCloser, error)
	// Lead runs fn while this process holds the named lease.
	Lead(ctx context.Context, name string, fn func(ctx context.Context) error) error
}

// Publisher brings jobs true on GitHub.
type Publisher struct {
	// Hub gives the client of an installation.
	Hub   func(installation int64) Hub
	Store Store
	// Checks is true for an App, which may write check runs; a plain token sets
	// commit statuses instead.
	Checks bool
	Log    *slog.Logger
	Now    func() time.Time
	// ProgressEvery is the least time between two updates of a running job;
	// 30 s when 0.
	ProgressEvery time.Duration
	// Retry is the first wait after a failure that may pass; 2 s when 0.
	Retry time.Duration
	// Observe, where set, is told of each try's outcome ("published", "retry", "given-up").
	Observe func(outcome string)
	// Limits gives a pool's limits on running jobs; nil: none.
	Limits func(pool string) queue.Limits
	// PageURL gives the address of a job's result page; nil, or empty for a job:
	// there is none that its readers could open.
	PageURL func(j job.Job) string

	line  waiting
	lines lately
}

// lease names the publisher's lease in the store.
const lease = "publisher"

// panicRest is how long a job that made the publisher panic is left alone.
const panicRest = time.Hour

// suspendedRest is how long a job of a suspended installation rests, unless it is
// told that the suspension is over.
const suspendedRest = 6 * time.Hour

// workers is how many jobs are brought true at once; the forge client paces
// them for each installation.
const workers = 4

// Run reconciles until the context ends. Several processes may run it: one at
// a time holds the lease.
func (p *Publisher) Run(ctx context.Context) error {
	err := p.Store.Lead(ctx, lease, p.reconcile)
	if err != nil && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("publisher: %w", err)
	}
	return nil
}

func (p *Publisher) reconcile(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	jobs, err := p.Store.Watch(ctx)
	if err != nil {
		stop()
		return fmt.Errorf("watch the jobs: %w", err)
	}
	p.line.reset()
	a := newAgenda()
	done := make(chan struct{})
	for range workers {
		go func() {
			p.work(ctx, a)
			done <- struct{}{}
		}()
	}
	refreshed := map[job.ID]int{}
	for change := range jobs {
		moved := p.line.put(change)
		// What is to be told anew need not rest any longer: what kept it from being
		// told may be gone.
		if last, known := refreshed[change.Job.ID]; known && change.Job.Refresh > last {
			a.rested(change.Job.ID)
		}
		refreshed[change.Job.ID] = change.Job.Refresh
		if j := change.Job; j.Revision > j.Published.Revision {
			a.add(j.ID, p.Now().Add(p.patience(j)))
		}
		for _, id := range moved {
			a.add(id, p.Now().Add(p.progressEvery()))
		}
	}
	stop()
	a.close()
	for range workers {
		<-done
	}
	return ctx.Err()
}

// isProgress tells a change that only says how far a running job has come.
func isProgress(j job.Job) bool {
	return j.State == job.Running && j.Published.CheckRun != 0 && !j.Progress.At.IsZero()
}

// patience is how long a change may wait, so that progress does not eat the
// budget of requests that reports need.
func (p *Publisher) patience(j job.Job) time.Duration {
	if !isProgress(j) {
		return 0
	}
	return p.progressEvery()
}

func (p *Publisher) progressEvery() time.Duration {
	if p.ProgressEvery > 0 {
		return p.ProgressEvery
	}
	return 30 * time.Second
}

func (p *Publisher) work(ctx context.Context, a *agenda) {
	for {
		id, ok := a.next(ctx)
		if !ok {
			return
		}
		wait := p.attend(ctx, id)
		a.finished(id, wait)
	}
}

// attend brings one job true. It gives the time after which the job wants
// another look, 0 for none.
//
// A job that cannot even be looked at without a panic rests: it must not stop all
// the others.
func (p *Publisher) attend(ctx context.Context, id job.ID) (wait time.Duration) {
	j := job.Job{ID: id}
	defer func() {
		if v := recover(); v != nil {
			p.Log.With(j.About()...).Error("a job could not be published: it made the publisher panic", "panic", v, "stack", string(debug.Stack()))
			p.observe("retry")
			wait = panicRest
		}
	}()
	var err error
	if j, err = p.Store.Get(ctx, id); err != nil {
		j.ID = id
	}
	if err == nil && j.Held != "" {
		return 0 // it comes round when it is released
	}
	shown := err == nil && j.Revision <= j.Published.Revision
	if shown && !p.movedUp(j) {
		return 0
	}
	log := p.Log.With(j.About()...)
	if err == nil {
		if isProgress(j) || shown {
			err = p.bring(forge.AsProgress(ctx), j)
		} else {
			err = p.bring(ctx, j)
		}
	}
	switch {
	case err == nil:
		p.observe("published")
		if finished(j) {
			log.Info("published", "state", j.State)
		}
		return 0
	case ctx.Err() != nil:
		return 0 // the next holder of the lease sees the same record
	case forge.Classify(err).Kind == forge.Dropped:
		return 0 // progress gave way to a report; the next beat tells more
	}
	p.observe("retry")
	wait = p.waitAfter(err, j)
	log.Warn("not published yet", "err", err, "again_in", wait.String())
	p.countRetry(ctx, j, err)
	return wait
}

func (p *Publisher) observe(outcome string) {
	if p.Observe != nil {
		p.Observe(outcome)
	}
}

// waitAfter doubles with every failed try, up to five minutes, and is never
// less than what the forge asks for.
func (p *Publisher) waitAfter(err error, j job.Job) time.Duration {
	first := p.Retry
	if first <= 0 {
		first = 2 * time.Second
	}
	wait := min(first<<min(j.Published.Retries, 10), 5*time.Minute)
	class := forge.Classify(err)
	if class.Kind == forge.Suspended {
		return suspendedRest
	}
	return max(wait, class.RetryAfter)
}

// countRetry notes why the job is not shown yet. A failure to note it is only
// a note lost.
func (p *Publisher) countRetry(ctx context.Context, of job.Job, why error) {
	_, err := p.Store.Update(ctx, of.ID, func(j *job.Job) error {
		j.Published.Retries++
		j.Published.Problem = why.Error()
		return nil
	})
	if err != nil && ctx.Err() == nil {
		p.Log.With(of.About()...).Warn("retry not noted", "err", err)
	}
}

// permanent tells whether asking again would get the same answer: the thing is
// locked, archived, gone, or not ours to write. A credential that is refused and
// an installation that is suspended are for people to mend; the job waits.
func permanent(err error) bool {
	class := forge.Classify(err)
	switch class.Kind {
	case forge.Unclassified, forge.Cancelled, forge.Unauthorized, forge.Suspended:
		return false
	}
	return !class.Retryable && !class.Unclear
}
