package runner

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/runner/measure"
	"github.com/prbench/prbench/runner/sandbox"
	"github.com/prbench/prbench/runner/source"
)

// LocalBackport asks for a change to be put on one release line of a repository
// on this machine, and to be measured there against the line as it is. The
// change and the tips of all lines are resolved before, once: see
// source.LocalChange and source.LocalTip.
type LocalBackport struct {
	Repo   string // any folder of the repository
	Change job.Change
	Line   job.Side // the tip of the line, by what people call the line
	Spec   job.Spec
	// The rest is as in LocalRequest. Sides is told the tip and the picked commit,
	// where there is one.
	Sandbox  *sandbox.Sandbox
	Work     string
	Sides    func(base, head job.Side)
	Sink     func(job.Run) error
	Progress func(job.Progress)
	Looked   func(measure.Look)
	Logger   *slog.Logger
}

// Backport puts the change on the line, builds both and measures. The Base of
// the result is the tip of the line, its Head the picked commit (empty where
// there is none), and how the change went on is Outcome.Picked. Errors are those
// of Compare, and a change that no line could take.
func Backport(ctx context.Context, r LocalBackport) (c Comparison, err error) {
	local := localWork{work: r.Work, sandbox: r.Sandbox, spec: r.Spec, line: r.Line.Ref,
		sink: r.Sink, progress: r.Progress, looked: r.Looked, log: r.Logger}
	err = local.do(func(e *execution) error {
		c, err = e.backport(ctx, r)
		return err
	})
	return c, err
}

func (e *execution) backport(ctx context.Context, r LocalBackport) (c Comparison, err error) {
	e.phase(job.PhaseFetch)
	e.pair, err = source.LocalLine(ctx, source.LineRequest{Repo: r.Repo, Tip: r.Line, Scratch: e.dir})
	if err != nil {
		return c, err
	}
	c.Base = r.Line
	ended, err := e.pick(ctx, r.Change)
	if err != nil {
		return c, err
	}
	c.Head = job.Side{SHA: e.pair.New.SHA, Ref: e.pair.New.Ref}
	if r.Sides != nil {
		r.Sides(c.Base, c.Head)
	}
	if ended != nil {
		c.Outcome = e.complete(*ended)
		return c, nil
	}
	plan, err := e.checkout(ctx)
	if err != nil {
		return c, err
	}
	c.Outcome = e.buildAndMeasure(ctx, plan)
	return c, nil
}

// pick puts the change on the line. An outcome says that there is nothing to
// measure.
func (e *execution) pick(ctx context.Context, c job.Change) (*job.Outcome, error) {
	e.phase(job.PhasePick)
	picked, err := e.pair.Pick(ctx, c)
	if err != nil {
		return nil, err
	}
	picked.Held = picked.Held || e.held && picked.Kind == job.PickConflicts
	e.picked = &picked
	if picked.SHA != "" {
		return nil, nil
	}
	return &job.Outcome{Kind: job.NotPicked, Text: notPicked(picked, e.line)}, nil
}

// notPicked says in one sentence why there is nothing to measure.
func notPicked(p job.Picked, line string) string {
	if p.Kind == job.PickConflicts {
		where := fmt.Sprintf("%d files", len(p.Files))
		switch len(p.Files) {
		case 1:
			where = p.Files[0]
		case source.MaxConflicts:
			where = "many files"
		}
		return fmt.Sprintf("the commit %.7s conflicts with %s in %s", p.Commit, line, where)
	}
	if p.Text != "" {
		return fmt.Sprintf("the change makes no difference on %s: %s", line, p.Text)
	}
	return "the change is already in " + line
}
