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
	"github.com/prbench/prbench/runner/fitness"
	"github.com/prbench/prbench/runner/sandbox"
	"github.com/prbench/prbench/runner/source"
)

// Why a try ends before its work does.
var (
	errLost    = errors.New("the lease is lost")
	errStopped = errors.New("runner stopped")
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
	// lease ends when the try is no longer ours; work also when it should stop.
	lease, work context.Context
	lose, stop  context.CancelCauseFunc
	progress    atomic.Pointer[job.Progress]
	// stopBy is set when the runner is told to stop: the latest time for the end of
	// the measuring.
	stopBy atomic.Pointer[time.Time]
	// ending says that serve is being told of the end. From then on a beat may
	// hear that the try is no longer ours because it has ended.
	ending atomic.Bool
	// kept says that the folder holds what the job's next try can go on with.
	kept bool
}

// do does a job from its first beat to its end.
func (s *service) do(ctx context.Context, l queue.Lease) {
	// The id becomes the name of a folder that is removed in the end.
	if !l.Job.ID.Valid() || l.Try < 1 {
		s.Logger.With(l.Job.About()...).Error("serve sent a job that cannot be done")
		return
	}
	t := &try{service: s, job: l.Job, try: l.Try,
		dir: filepath.Join(s.jobs, fmt.Sprintf("%s-%d", l.Job.ID, l.Try)),
		log: s.Logger.With(l.Job.About()...)}
	t.lease, t.lose = context.WithCancelCause(context.WithoutCancel(ctx))
	t.work, t.stop = context.WithCancelCause(t.lease)
	defer t.lose(nil)
	defer t.stop(nil)
	ended := make(chan struct{})
	defer close(ended)
	unhook := context.AfterFunc(ctx, func() { t.leave(ended) })
	defer unhook()

	beats := make(chan struct{})
	beating, endBeats := context.WithCancel(t.lease)
	go func() {
		defer close(beats)
		t.beat(beating, l.End)
	}()
	t.log.Info("job begins", "repository", t.job.Repository.FullName(), "pr", t.job.PR)
	e := t.execution()
	o, low := e.diskLow(t.perform(e))
	if low {
		e.makeRoom()
	}
	t.finish(o)
	endBeats()
	<-beats
	if !t.kept {
		t.clear(e, !low)
	}
	if err := s.forget(time.Now()); err != nil {
		t.log.Error("the folder of a job that did not come back stays", "error", err)
	}
	if err := source.Prune(s.mirrors, s.MirrorLimit); err != nil {
		t.log.Error("mirrors were not pruned", "error", err)
	}
}

// leave brings the try to its end because the runner is told to stop: what is
// fetched or built at once, what is measured with its look, and all of it when
// serve does not take the job back.
func (t *try) leave(ended <-chan struct{}) {
	by := time.Now().Add(t.LookGrace)
	t.stopBy.Store(&by)
	wait := func(d time.Duration) bool {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
			return true
		case <-ended:
			return false
		}
	}
	if p := t.progress.Load(); p != nil && (p.Phase == job.PhaseMeasure || p.Phase == job.PhaseDeliver) && !wait(t.LookGrace) {
		return
	}
	t.stop(errStopped)
	if wait(t.StopGrace) {
		t.lose(errStopped)
	}
}

// toEnd tells the measuring whether it is to end; see measure.Options.
func (t *try) toEnd() (latest time.Time, asked bool) {
	by := t.stopBy.Load()
	if by == nil {
		return time.Time{}, false
	}
	return *by, true
}

// beat tells serve that the job is alive, at once and then regularly, until ctx
// ends. It loses the lease when serve says so. While serve is away the work goes
// on, however long: serve hears a runner that lives before it gives its job to
// another, and one that was cut off longer than its lease is told when it is back.
func (t *try) beat(ctx context.Context, end time.Time) {
	for {
		p := job.Progress{Phase: job.PhaseFetch}
		if now := t.progress.Load(); now != nil {
			p = now.Now(time.Now())
		}
		a, err := t.Conn.Beat(ctx, t.job.ID, t.try, p)
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, queue.ErrRefused), err == nil && a.Lost && !t.ending.Load():
			t.lose(errLost)
			return
		case err == nil && a.Lost:
			return
		case err != nil:
			t.log.Warn("beat", "error", err, "lease_ended", time.Now().After(end))
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
func (t *try) perform(e *execution) job.Outcome {
	fault := func(err error) job.Outcome { return job.Outcome{Kind: job.Fault, Text: err.Error()} }
	var watch *fitness.Watch
	e.earlier, watch = t.takeUp(e)
	if e.earlier == nil {
		if err := errors.Join(removeTree(t.dir), os.Mkdir(t.dir, 0o711)); err != nil {
			return fault(fmt.Errorf("make the job's folder: %w", err))
		}
	}
	var err error
	t.spool, err = newSpool(t.lease, filepath.Join(t.dir, recordsFile), func(ctx context.Context, r job.Run) error {
		err := t.Conn.Publish(ctx, t.job.ID, t.try, runWithoutPath(r, t.Work))
		if errors.Is(err, queue.ErrStale) {
			t.lose(errLost)
		}
		return err
	})
	if err != nil {
		return fault(err)
	}
	e.sink = t.spool.add
	var out job.Outcome
	if e.earlier != nil {
		t.log.Info("job goes on", "runs", len(e.earlier))
		out = e.measure(t.work, watch)
	} else {
		out = t.fromTheStart(e)
	}
	out.Runs, _ = t.spool.state() // one that could not be kept is none
	return out
}

// clear removes the job's folder, which nobody goes on with, and before that keeps
// what it holds for later jobs. Up to here, wherever the runner is stopped or
// killed, the folder is whole: serve has not taken the job's end, or needs it no
// more.
func (t *try) clear(e *execution, keep bool) {
	// A folder that gives its base away must not look like one to go on with.
	err := removeIfThere(filepath.Join(t.dir, stateFile))
	if err == nil && keep {
		e.keepBase()
		t.remember(e)
	}
	if err = errors.Join(err, removeTree(t.dir)); err != nil {
		t.log.Error("the job's folder stays", "error", err)
	}
}

// execution is the try's own, without what it has measured.
func (t *try) execution() *execution {
	e := &execution{box: t.Sandbox, dir: t.dir, spec: t.job.Spec, attempt: t.job.Attempt, name: t.Name, sees: t.calibration().For(t.job.Repository.ID), log: t.log, end: t.toEnd,
		progress: func(p job.Progress) { p.At = time.Now(); t.progress.Store(&p) }}
	if t.Sandbox.Facts().Kind != sandbox.None { // without one, results may hold the tree's own path
		e.bases, e.mirrors = t.bases, t.mirrors
		e.key = cacheKey{Repository: t.job.Repository.ID, SHA: t.job.Base.SHA, Build: t.job.Spec.Build, History: t.job.Spec.History,
			LFS: t.job.Spec.LFS, Sandbox: fmt.Sprint(t.Sandbox.Facts().Version, t.Sandbox.Facts().UID), Toolchain: t.bases.toolchain()}
		e.built, e.past = func() { t.saveState(e) }, t.savePast
	}
	if t.job.Backport != nil {
		e.line, e.held = t.job.Backport.Line, t.job.Backport.Held
	}
	e.usual = t.builds[buildTimeKey(t.job)]
	return e
}

// fromTheStart fetches, builds and measures.
func (t *try) fromTheStart(e *execution) job.Outcome {
	plan, ended, err := t.fetch(e)
	if e.pair != nil {
		defer func() {
			if err := e.pair.Close(); err != nil {
				t.log.Error("a checkout's scratch stays", "error", err)
			}
		}()
	}
	if err != nil {
		return e.complete(e.sourceOutcome(err))
	}
	if ended != nil {
		return e.complete(*ended)
	}
	out := e.buildAndMeasure(t.work, plan)
	t.builds.keep(t.job, e.usual)
	return out
}

// fetch brings the sources here, in a backport puts the change on its line, and
// gives the credential back, however that went. An outcome says that there is
// nothing to measure.
func (t *try) fetch(e *execution) (plan source.Plan, ended *job.Outcome, err error) {
	e.phase(job.PhaseFetch)
	borrowed := false
	defer func() {
		if e.pair != nil {
			e.pair.Settle()
		}
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
	request := source.Request{
		Dir: t.mirrors, Repository: t.job.Repository.ID, CloneURL: t.job.Repository.CloneURL, Host: t.Host, AllowHTTP: t.AllowHTTP,
		Token: func(ctx context.Context) (user, secret string, err error) {
			tok, err := t.Conn.Token(ctx, t.job.ID, t.try)
			borrowed = borrowed || err == nil
			return tok.Username, tok.Value, err
		},
		Base: t.job.Base, Head: t.job.Head, Change: change, PR: t.job.PR, History: t.job.Spec.History,
		Limits: t.Sources, Log: t.log,
	}
	for times := 0; ; times++ {
		e.pair, err = source.Fetch(t.work, request)
		if !t.fetchAgain(err, times) {
			break
		}
	}
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
	var by *cancelled
	stopped := t.stopBy.Load() != nil && (o.Kind == job.Stopped || o.Kind == job.Fault)
	switch {
	case errors.As(context.Cause(t.work), &by):
		o.Kind, o.Text, stopped = job.Stopped, by.Error(), false
	case stopped && t.lease.Err() == nil:
		o.Kind, o.Text, o.Again = job.Fault, errStopped.Error(), true
	}
	defer func() { t.kept = t.kept && t.hasState() }()
	t.kept = stopped
	if t.spool != nil {
		t.progress.Store(&job.Progress{Phase: job.PhaseDeliver, Done: o.Runs, Total: o.Runs, At: time.Now()})
		if err := t.spool.close(); err != nil && o.Kind != job.Fault && t.lease.Err() == nil {
			o.Kind, o.Text = job.Fault, "the records could not be delivered: "+err.Error()
		}
	}
	if t.lease.Err() == nil {
		t.ending.Store(true)
		err := t.Conn.Done(t.lease, t.job.ID, t.try, withoutPath(o, t.Work))
		if err == nil {
			t.count(o)
			t.log.Info("job ends", "outcome", o.Kind, "runs", o.Runs, "text", o.Text)
			return
		}
		t.log.Warn("the job's end was not taken", "error", err)
	}
	cause := context.Cause(t.lease)
	if t.kept = errors.Is(cause, errStopped); !t.kept {
		t.log.Warn("what was measured is thrown away", "why", cause)
	}
}

// hasState tells whether the folder can be gone on with.
func (t *try) hasState() bool {
	_, err := readState(t.dir)
	return err == nil
}
