package runner

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/internal/queue"
	"github.com/prbench/prbench/runner/sandbox"
	"github.com/prbench/prbench/runner/source"
)

// Why a try ends before its work does.
var (
	errLost    = errors.New("the lease is lost")
	errStopped = errors.New("the runner was stopped")
)

// cancelled is the cause of a job that a person or a push took back.
type cancelled struct{ job.Cancel }

func (c *cancelled) Error() string {
	s := "cancelled by " + c.By
	if c.Reason != "" {
		s += " (" + c.Reason + ")"
	}
	return s
}

// try is one job that this runner holds.
type try struct {
	*service
	job   job.Job
	try   int
	dir   string
	log   *slog.Logger
	spool *spool
	drop  context.CancelFunc // gives up what the spool has not delivered
	// lease ends when the try is no longer ours; work also when it should stop.
	lease, work context.Context
	lose, stop  context.CancelCauseFunc
	progress    atomic.Pointer[job.Progress]
}

// do does a job from its first beat to its end.
func (s *service) do(ctx context.Context, l queue.Lease) {
	// The id becomes the name of a folder that is removed in the end.
	if !l.Job.ID.Valid() || l.Try < 1 {
		s.Logger.Error("serve sent a job that cannot be done", "job", l.Job.ID, "try", l.Try)
		return
	}
	t := &try{service: s, job: l.Job, try: l.Try,
		dir: filepath.Join(s.jobs, fmt.Sprintf("%s-%d", l.Job.ID, l.Try)),
		log: s.Logger.With("job", l.Job.ID, "try", l.Try)}
	t.lease, t.lose = context.WithCancelCause(context.WithoutCancel(ctx))
	t.work, t.stop = context.WithCancelCause(t.lease)
	defer t.lose(nil)
	defer t.stop(nil)
	ended := make(chan struct{})
	defer close(ended)
	unhook := context.AfterFunc(ctx, func() {
		t.stop(errStopped)
		timer := time.NewTimer(stopGrace)
		defer timer.Stop()
		select {
		case <-timer.C:
			t.lose(errStopped)
		case <-ended:
		}
	})
	defer unhook()

	beats := make(chan struct{})
	beating, endBeats := context.WithCancel(t.lease)
	go func() {
		defer close(beats)
		t.beat(beating, l.End)
	}()
	t.log.Info("job begins", "repository", t.job.Repository.FullName(), "pr", t.job.PR)
	t.finish(t.perform())
	endBeats()
	<-beats
	if err := removeTree(t.dir); err != nil {
		t.log.Error("the job's folder stays", "error", err)
	}
	if err := source.Prune(s.mirrors, s.MirrorLimit); err != nil {
		t.log.Error("mirrors were not pruned", "error", err)
	}
}

// beat tells serve that the job is alive, at once and then regularly, until ctx
// ends. It loses the lease when serve says so, and when serve has been away so
// long that it must have given the job to another runner.
func (t *try) beat(ctx context.Context, end time.Time) {
	for {
		p := job.Progress{Phase: job.PhaseFetch}
		if now := t.progress.Load(); now != nil {
			p = *now
		}
		a, err := t.Conn.Beat(ctx, t.job.ID, t.try, p)
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, queue.ErrRefused), err == nil && a.Lost:
			t.lose(errLost)
			return
		case err != nil && time.Now().After(end):
			t.lose(fmt.Errorf("%w: serve was away too long", errLost))
			return
		case err != nil:
			t.log.Warn("beat", "error", err)
		default:
			end = a.LeaseEnd
			if a.Cancel != nil {
				t.stop(&cancelled{*a.Cancel})
			}
		}
		if !sleep(ctx, t.BeatEvery) {
			return
		}
	}
}

// perform does the work and says how it ended. What it says is void where the
// lease was lost.
func (t *try) perform() job.Outcome {
	fault := func(err error) job.Outcome { return job.Outcome{Kind: job.Fault, Text: err.Error()} }
	if err := os.Mkdir(t.dir, 0o711); err != nil {
		return fault(fmt.Errorf("make the job's folder: %w", err))
	}
	var err error
	var delivering context.Context
	delivering, t.drop = context.WithCancel(t.lease)
	t.spool, err = newSpool(delivering, filepath.Join(t.dir, "records"), func(ctx context.Context, r job.Run) error {
		err := t.Conn.Publish(ctx, t.job.ID, t.try, r)
		if errors.Is(err, queue.ErrStale) {
			t.lose(errLost)
		}
		return err
	})
	if err != nil {
		return fault(err)
	}
	e := &execution{box: t.Sandbox, dir: t.dir, spec: t.job.Spec, attempt: t.job.Attempt, name: t.Name, sees: t.calibration(), sink: t.spool.add, log: t.log,
		progress: func(p job.Progress) { p.At = time.Now(); t.progress.Store(&p) }}
	if t.Sandbox.Facts().Kind != sandbox.None { // without one, results may hold the tree's own path
		e.bases = t.bases
		e.key = cacheKey{Repository: t.job.Repository.ID, SHA: t.job.Base.SHA, Build: t.job.Spec.Build, History: t.job.Spec.History,
			LFS: t.job.Spec.LFS, Sandbox: fmt.Sprint(t.Sandbox.Facts().Version, t.Sandbox.Facts().UID), Toolchain: t.bases.toolchain()}
	}
	if t.job.Backport != nil {
		e.line = t.job.Backport.Line
	}
	plan, ended, err := t.fetch(e)
	if e.pair != nil {
		defer func() {
			if err := e.pair.Close(); err != nil {
				t.log.Error("a checkout's scratch stays", "error", err)
			}
		}()
	}
	if err != nil {
		return e.complete(sourceOutcome(err))
	}
	if ended != nil {
		return e.complete(*ended)
	}
	out := e.buildAndMeasure(t.work, plan)
	e.keepBase()
	t.remember(e)
	return out
}

// fetch brings the sources here, in a backport puts the change on its line, and
// gives the credential back, however that went. An outcome says that there is
// nothing to measure.
func (t *try) fetch(e *execution) (plan source.Plan, ended *job.Outcome, err error) {
	e.phase(job.PhaseFetch)
	borrowed := false
	defer func() {
		if borrowed {
			if backErr := t.Conn.Fetched(t.work, t.job.ID, t.try); backErr != nil && t.work.Err() == nil {
				t.log.Warn("the clone token was not revoked; it expires by itself", "error", backErr)
			}
		}
	}()
	var change *job.Change
	if t.job.Backport != nil {
		change = &t.job.Backport.Change
	}
	e.pair, err = source.Fetch(t.work, source.Request{
		Dir: t.mirrors, Repository: t.job.Repository.ID, CloneURL: t.job.Repository.CloneURL, Host: t.Host, AllowHTTP: t.AllowHTTP,
		Token: func(ctx context.Context) (user, secret string, err error) {
			tok, err := t.Conn.Token(ctx, t.job.ID, t.try)
			borrowed = err == nil
			return tok.Username, tok.Value, err
		},
		Base: t.job.Base, Head: t.job.Head, Change: change, PR: t.job.PR, History: t.job.Spec.History,
	})
	if err != nil {
		return plan, nil, err
	}
	if change != nil {
		if ended, err = e.pick(t.work, *change); ended != nil || err != nil {
			return plan, ended, err
		}
	}
	plan, err = e.checkout(t.work)
	return plan, nil, err
}

// finish delivers what was measured and ends the try.
func (t *try) finish(o job.Outcome) {
	switch cause := context.Cause(t.work).(type) {
	case nil:
	case *cancelled:
		o.Kind, o.Text = job.Stopped, cause.Error()
	default:
		if t.lease.Err() == nil {
			o.Kind, o.Text = job.Fault, "runner stopped"
		}
	}
	if t.spool != nil {
		if errors.Is(context.Cause(t.work), errStopped) {
			t.drop() // the next try measures anew, and nobody will read this one's records
		}
		t.progress.Store(&job.Progress{Phase: job.PhaseDeliver, Done: o.Runs, Total: o.Runs, At: time.Now()})
		if err := t.spool.close(); err != nil && o.Kind != job.Fault && t.lease.Err() == nil {
			o.Kind, o.Text = job.Fault, "the records could not be delivered: "+err.Error()
		}
	}
	if t.lease.Err() != nil {
		t.log.Warn("what was measured is thrown away", "why", context.Cause(t.lease))
		return
	}
	if err := t.Conn.Done(t.lease, t.job.ID, t.try, o); err != nil {
		t.log.Warn("the job's end was not taken", "error", err)
		return
	}
	t.log.Info("job ends", "outcome", o.Kind, "runs", o.Runs, "text", o.Text)
}
