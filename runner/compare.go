package runner

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/runner/measure"
	"github.com/prbench/prbench/runner/sandbox"
	"github.com/prbench/prbench/runner/source"
)

// LocalRequest asks for a comparison of two commits of a repository on this
// machine.
type LocalRequest struct {
	Repo      string // any folder of the repository
	Base      string // a ref
	Head      string // a ref, or source.WorkingTree
	BaseExact bool   // Base itself, not its merge base with Head
	Spec      job.Spec
	Sandbox   *sandbox.Sandbox
	// Work is where the trees are built; empty: a folder in the system's place for
	// temporary files. The sandbox's user needs the search bit on the way to it.
	Work string
	// Sides, where set, is told the two commits before anything is built.
	Sides func(base, head job.Side)
	// Sink gets every finished run; see measure.Options.
	Sink     func(job.Run) error
	Progress func(job.Progress)
	// Looked is told what each look of an adaptive comparison found.
	Looked func(measure.Look)
	Logger *slog.Logger
}

// Comparison is what Compare found.
type Comparison struct {
	Base, Head job.Side
	Outcome    job.Outcome
}

// Compare builds and measures two local commits. A commit that does not exist, a
// missing merge base and files that cannot be had are errors (*source.Refused);
// how the builds and the benchmarks went is in the outcome. A cancelled context
// gives a Stopped outcome; what was measured before has gone to the sink.
func Compare(ctx context.Context, r LocalRequest) (c Comparison, err error) {
	local := localWork{work: r.Work, sandbox: r.Sandbox, spec: r.Spec,
		sink: r.Sink, progress: r.Progress, looked: r.Looked, log: r.Logger}
	err = local.do(func(e *execution) error {
		c, err = e.compare(ctx, r)
		return err
	})
	return c, err
}

func (e *execution) compare(ctx context.Context, r LocalRequest) (c Comparison, err error) {
	e.phase(job.PhaseFetch)
	e.pair, err = source.Local(ctx, source.LocalRequest{Repo: r.Repo, Base: r.Base, Head: r.Head, BaseExact: r.BaseExact, Scratch: e.dir})
	if err != nil {
		return c, fmt.Errorf("compare: %w", err)
	}
	c.Base = job.Side{SHA: e.pair.Old.SHA, Ref: e.pair.Old.Ref}
	c.Head = job.Side{SHA: e.pair.New.SHA, Ref: e.pair.New.Ref}
	if r.Sides != nil {
		r.Sides(c.Base, c.Head)
	}
	plan, err := e.checkout(ctx)
	if err != nil {
		return c, fmt.Errorf("compare: %w", err)
	}
	c.Outcome = e.buildAndMeasure(ctx, plan)
	return c, nil
}

// localWork is an execution on commits of a repository on this machine.
type localWork struct {
	work     string
	sandbox  *sandbox.Sandbox
	spec     job.Spec
	line     string
	sink     func(job.Run) error
	progress func(job.Progress)
	looked   func(measure.Look)
	log      *slog.Logger
}

// do gives the execution a folder of its own, which is gone afterwards.
func (w localWork) do(f func(*execution) error) (err error) {
	if w.sandbox == nil || w.sink == nil {
		return errors.New("compare: want a sandbox and a sink")
	}
	if w.log == nil {
		w.log = slog.New(slog.DiscardHandler)
	}
	dir, err := os.MkdirTemp(w.work, "prbench-compare-")
	if err != nil {
		return fmt.Errorf("make a folder for the trees: %w", err)
	}
	defer func() { err = errors.Join(err, removeTree(dir)) }()
	if err := os.Chmod(dir, 0o711); err != nil {
		return fmt.Errorf("make a folder for the trees: %w", err)
	}
	if err := reachable(dir, w.sandbox.Facts()); err != nil {
		return err
	}
	host, err := os.Hostname()
	if err != nil {
		host = "this machine"
	}
	e := &execution{box: w.sandbox, dir: dir, spec: w.spec, line: w.line, name: host, looked: w.looked,
		sink: w.sink, progress: w.progress, log: w.log}
	defer func() {
		if e.pair != nil {
			err = errors.Join(err, e.pair.Close())
		}
	}()
	return f(e)
}
