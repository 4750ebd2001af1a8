// Package runner does what a job asks for on this machine: it brings both
// commits here, builds each in the sandbox, runs their benchmarks in pairs, and
// hands every finished run on.
//
// Run is the service of a machine that takes jobs from serve; Compare does the
// same with two commits of a local repository, Backport with a release line and
// a change. All share one execution. All
// that is foreign runs in the sandbox; this process stays outside of it and
// keeps no credential once the sources are here.
package runner

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/runner/disk"
	"github.com/prbench/prbench/runner/fitness"
	"github.com/prbench/prbench/runner/measure"
	"github.com/prbench/prbench/runner/proxy"
	"github.com/prbench/prbench/runner/sandbox"
	"github.com/prbench/prbench/runner/source"
)

// execution is one try of one comparison.
type execution struct {
	box *sandbox.Sandbox
	// dir is the try's own directory, which the sandbox's user may pass through.
	dir      string
	spec     job.Spec
	line     string // the release line, in a backport; hostile text
	held     bool   // that line's history holds the change; see job.Backport
	name     string // of this machine, for the report
	sees     *job.Calibration
	attempt  int
	looked   func(measure.Look)
	sink     func(job.Run) error
	progress func(job.Progress)
	log      *slog.Logger

	// bases, where set, is where built bases are kept, and key what this one is
	// kept as.
	bases *baseCache
	key   cacheKey
	// mirrors is where those of all repositories are kept, beside the bases.
	mirrors string
	keep    bool // the base was built, from its own files alone
	// usual is how long the last build took that is known of; 0: none is.
	usual time.Duration

	// earlier are records of these same builds that an earlier try has left. end,
	// where set, tells whether the measuring is to end; see measure.Options. built,
	// where set, is told when only the measuring is left, and past, where set, what
	// was seen of the machine so far.
	earlier []job.Run
	end     func() (latest time.Time, asked bool)
	built   func()
	past    func(fitness.Past)

	// reach, in tests, says what stands for the Internet of a build's network.
	reach proxy.Options

	pair   *source.Pair
	picked *job.Picked // in a backport, once that is known
	notes  []string
	low    bool // a fault came of a disk that was nearly full; its text says so
}

func (e *execution) tree(side job.SideName) string { return filepath.Join(e.dir, string(side)) }

func (e *execution) phase(p job.Phase) {
	if e.progress != nil {
		now := job.Progress{Phase: p}
		if p == job.PhaseBuildBase || p == job.PhaseBuildHead {
			now.PhaseLeft = job.Duration(e.usual)
		}
		e.progress(now)
	}
	e.log.Info("job phase", "phase", p)
}

// checkout writes both sides. No foreign code has run before it returns. A
// *source.Refused says what cannot be had.
func (e *execution) checkout(ctx context.Context) (source.Plan, error) {
	e.notes = append(e.notes, e.pair.Notes...)
	var globs []string
	for _, s := range e.spec.Suites {
		globs = append(globs, s.Harness...)
	}
	slices.Sort(globs)
	plan, err := e.pair.Plan(ctx, slices.Compact(globs), e.spec.Harness)
	if err != nil {
		return plan, err
	}
	e.notes = append(e.notes, plan.Notes...)
	for _, side := range []job.SideName{job.Old, job.New} {
		if err := e.write(ctx, plan, side); err != nil {
			return plan, err
		}
	}
	return plan, nil
}

func (e *execution) write(ctx context.Context, plan source.Plan, side job.SideName) error {
	notes, err := e.pair.Write(ctx, plan, side, e.tree(side), source.Content{History: e.spec.History, LFS: e.spec.LFS})
	e.notes = append(e.notes, notes...)
	if err != nil {
		return err
	}
	return e.box.Own(ctx, e.tree(side))
}

// buildAndMeasure does the rest of the work on written sides.
func (e *execution) buildAndMeasure(ctx context.Context, plan source.Plan) job.Outcome {
	watch := fitness.NewWatch(fitness.Here(e.box.Facts().Pinned))
	for _, side := range []job.SideName{job.Old, job.New} {
		if out := e.build(ctx, plan, side); out != nil {
			return e.complete(*out)
		}
	}
	return e.measure(ctx, watch)
}

// runsDir is the folder, in the job's own, of what single runs need and write.
const runsDir = "runs"

// measure measures the built sides.
func (e *execution) measure(ctx context.Context, watch *fitness.Watch) job.Outcome {
	if e.built != nil {
		e.built()
	}
	dir := filepath.Join(e.dir, runsDir)
	if err := os.Mkdir(dir, 0o711); err != nil {
		return e.complete(job.Outcome{Kind: job.Fault, Text: "make the folder of the runs: " + err.Error()})
	}
	e.phase(job.PhaseMeasure)
	watch.Measure()
	past := &pastKeeper{watch: watch, keep: e.past}
	past.now()
	out, err := measure.Run(ctx, measure.Options{Exec: e.box, Old: e.tree(job.Old), New: e.tree(job.New), Dir: dir,
		Spec: e.spec, Line: e.line, Sink: func(r job.Run) error { past.ran(r); return e.sink(r) }, Progress: e.progress, Attempt: e.attempt, Looked: e.looked,
		Earlier: e.earlier, Again: e.sink, End: e.end})
	if err != nil {
		out = job.Outcome{Kind: job.Fault, Text: err.Error()}
	}
	out.Host = hostFacts(hostRoot, e.name, e.box.Facts())
	out.Host.Unfit, out.Host.Warn = fitness.Judge(watch.End())
	if out.Kind != job.Measured {
		past.now()
	}
	return e.complete(out)
}

// complete adds what is known of every end.
func (e *execution) complete(o job.Outcome) job.Outcome {
	if o.Host.Name == "" {
		o.Host = hostFacts(hostRoot, e.name, e.box.Facts())
	}
	o.Host.Calibration = e.sees
	o.Picked = e.picked
	o.Notes = append(slices.Clone(e.notes), o.Notes...)
	return o
}

// sourceOutcome sorts the error of a fetch or checkout.
func (e *execution) sourceOutcome(err error) job.Outcome {
	var refused *source.Refused
	if errors.As(err, &refused) {
		return job.Outcome{Kind: job.CheckoutFailed, Side: refused.Side, Text: refused.Text}
	}
	if errors.Is(err, syscall.ENOSPC) && !errors.Is(err, disk.ErrLow) {
		err = fmt.Errorf("%w: %w", disk.ErrLow, err)
	}
	e.blameDisk(err)
	return job.Outcome{Kind: job.Fault, Text: err.Error()}
}

// removeTree removes a directory in which builds may have left folders that
// nobody may write.
func removeTree(dir string) error {
	err := os.RemoveAll(dir)
	if err == nil {
		return nil
	}
	if info, statErr := os.Lstat(dir); statErr == nil && info.IsDir() {
		statErr = os.Chmod(dir, 0o700) // where that fails the next step says so
		err = errors.Join(err, statErr)
	}
	root, openErr := os.OpenRoot(dir)
	if openErr != nil {
		return fmt.Errorf("remove %s: %w", dir, err)
	}
	defer root.Close()
	// A folder is made writable before it is read.
	walkErr := fs.WalkDir(root.FS(), ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		return root.Chmod(p, 0o700)
	})
	if err := errors.Join(walkErr, os.RemoveAll(dir)); err != nil {
		return fmt.Errorf("remove %s: %w", dir, err)
	}
	return nil
}
