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
	if r.Sandbox == nil || r.Sink == nil {
		return c, errors.New("compare: want a sandbox and a sink")
	}
	if r.Logger == nil {
		r.Logger = slog.New(slog.DiscardHandler)
	}
	dir, err := os.MkdirTemp(r.Work, "prbench-compare-")
	if err != nil {
		return c, fmt.Errorf("make a folder for the trees: %w", err)
	}
	defer func() { err = errors.Join(err, removeTree(dir)) }()
	if err := os.Chmod(dir, 0o711); err != nil {
		return c, fmt.Errorf("make a folder for the trees: %w", err)
	}
	if err := reachable(dir, r.Sandbox.Facts()); err != nil {
		return c, err
	}
	host, err := os.Hostname()
	if err != nil {
		host = "this machine"
	}
	e := &execution{box: r.Sandbox, dir: dir, spec: r.Spec, name: host, looked: r.Looked,
		sink: r.Sink, progress: r.Progress, log: r.Logger}
	e.phase(job.PhaseFetch)
	e.pair, err = source.Local(ctx, source.LocalRequest{Repo: r.Repo, Base: r.Base, Head: r.Head, BaseExact: r.BaseExact, Scratch: dir})
	if err != nil {
		return c, fmt.Errorf("compare: %w", err)
	}
	defer func() { err = errors.Join(err, e.pair.Close()) }()
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
