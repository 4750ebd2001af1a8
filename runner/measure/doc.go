// Package measure runs the benchmarks of two built trees.
//
// Runs come in pairs, one of each side, in an order that is random within each
// pair: never a fixed old-new, which a drift of the machine would turn into a
// difference. Cases take turns, so that what is measured when a person cancels
// or the budget ends is balanced. Every run is a process of its own in a fresh
// sandbox, and is handed on as soon as it has ended. Nothing else is done while one
// runs, but where the runner has CPUs of its own the next sandbox is made.
//
// An adaptive measuring judges what it has at the looks that the spec plans, and
// leaves a case when each of its benchmarks is resolved or futile. The chance of
// a wrong verdict is what was planned because nothing else ends a case by what
// was measured: the budget, and the end of a measuring that goes far beyond it,
// are matters of time.
package measure

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/runner/sandbox"
)

// Executor makes processes ready to run, up to two at a time. *sandbox.Sandbox is
// the real one.
type Executor interface {
	Prepare(ctx context.Context, c sandbox.Command) (sandbox.Held, error)
	// Ahead tells whether the next process may be made ready while one is measured,
	// which must not be disturbed by that.
	Ahead() bool
	// NewOut makes a fresh directory for a tool's output file.
	NewOut(parent string) (*sandbox.Out, error)
	// Src and Out are what the process calls its tree and its output directory.
	Src(tree string) string
	Out(o *sandbox.Out) string
}

// Options say what is measured and where the results go.
type Options struct {
	Exec Executor
	// Old and New are the built trees. They are only read.
	Old, New string
	// Dir is an empty directory of ours for output files and for the ad-hoc
	// benchmark. The sandbox's user needs the search bit on the way to it.
	Dir  string
	Spec job.Spec
	// Line is, in a backport, the release line that Old is the tip of, for the
	// words of the outcome; hostile text.
	Line string
	// Sink gets every finished run, in order. Its error ends the measuring. It
	// should not block: nothing slow may stand between two runs.
	Sink func(job.Run) error
	// Progress, where set, is told after every run. The same holds.
	Progress func(job.Progress)
	// Attempt numbers the statistical repeats of this comparison from 1, which are
	// judged at ever smaller levels; 0 means 1. It matters to adaptive runs alone.
	Attempt int
	// Looked, where set, is told what each look of an adaptive measuring found.
	// The same holds.
	Looked func(Look)
	// Earlier are runs of the same two builds, which an earlier measuring of the
	// same spec has left: whole pairs among them count and are not run again. They
	// go to Again, in place of Sink and in their order, which is then to be set.
	Earlier []job.Run
	Again   func(job.Run) error
	// End, where set, tells whether the measuring is to end before it is complete,
	// and the latest time for that. It ends, as Stopped, with the look that it is
	// at, or with a pair where the look would come too late. A measuring that the
	// look completes is complete.
	End func() (latest time.Time, asked bool)
	// Rand orders the sides within the pairs; nil: a generator of its own,
	// seeded by the system.
	Rand *rand.Rand
	// Now is the clock; nil: time.Now.
	Now func() time.Time
}
