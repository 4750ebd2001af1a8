package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/prbench/prbench/internal/config"
	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/runner/disk"
	"github.com/prbench/prbench/runner/sandbox"
	"github.com/prbench/prbench/runner/source"
)

// keptBuildLog is how much of the end of a build's output is kept, in bytes.
const keptBuildLog = 16 << 10

// cacheDir is where a build finds the folder for its caches. It is the side's
// own, so that nothing passes from one side to the other, and is gone after the
// job.
const cacheDir = "/cache"

// build builds a side where the spec says how. A nil outcome says that it is
// built. A base that does not build with the benchmark files that only the pull
// request has is built again without them.
func (e *execution) build(ctx context.Context, plan source.Plan, side job.SideName) *job.Outcome {
	if strings.TrimSpace(e.spec.Build.Run) == "" {
		return nil
	}
	e.phase(map[job.SideName]job.Phase{job.Old: job.PhaseBuildBase, job.New: job.PhaseBuildHead}[side])
	if side == job.Old && plan.BaseAlone() {
		hit, err := e.cached()
		if err != nil {
			e.log.Warn("the cache of builds", "error", err)
		}
		if hit {
			e.log.Info("the base was built before")
			e.keep = true
			return nil
		}
	}
	e.seed(ctx, side)
	began := time.Now()
	out := e.buildOnce(ctx, side)
	if out == nil {
		e.usual = time.Since(began)
	}
	e.keep = e.keep || side == job.Old && out == nil && plan.BaseAlone()
	if out == nil || out.Kind != job.BuildFailed || side != job.Old || len(plan.Extra) == 0 {
		return out
	}
	if err := e.again(ctx, plan); err != nil {
		o := e.sourceOutcome(err)
		return &o
	}
	e.seed(ctx, side)
	if out = e.buildOnce(ctx, side); out == nil {
		e.keep = plan.OldAlone().BaseAlone()
		e.notes = append(e.notes, "the base does not build with the harness files that only the pull request has; its side runs without them")
	}
	return out
}

// again writes the base's side anew, without the head's files.
func (e *execution) again(ctx context.Context, plan source.Plan) error {
	for _, dir := range []string{e.tree(job.Old), e.cache(job.Old)} {
		if err := removeTree(dir); err != nil {
			return err
		}
	}
	return e.write(ctx, plan.OldAlone(), job.Old)
}

func (e *execution) cache(side job.SideName) string {
	return filepath.Join(e.dir, "cache-"+string(side))
}

// cached takes the base from the cache of builds in place of the written tree.
func (e *execution) cached() (bool, error) {
	if e.bases == nil {
		return false, nil
	}
	fresh := e.tree(job.Old) + "-fresh"
	if err := os.Rename(e.tree(job.Old), fresh); err != nil {
		return false, err
	}
	hit, err := e.bases.take(e.key, e.tree(job.Old), e.cache(job.Old))
	if hit {
		return true, removeTree(fresh)
	}
	// What a failed move has left is not to be built on.
	return false, errors.Join(err, removeTree(e.tree(job.Old)), removeTree(e.cache(job.Old)), os.Rename(fresh, e.tree(job.Old)))
}

// seed gives a build the caches of an earlier one: the base the ones of the
// repository's last base, the head the ones of its base. A head's never go
// anywhere. Without them a build is slower and no less right.
func (e *execution) seed(ctx context.Context, side job.SideName) {
	from := e.cache(job.Old)
	if side == job.Old {
		if e.bases == nil {
			return
		}
		from = e.bases.latest(e.key)
	}
	if _, err := os.Stat(from); from == "" || err != nil {
		return
	}
	err := copyTree(ctx, from, e.cache(side))
	if err == nil {
		err = os.Chmod(e.cache(side), 0o755) // whatever the build before has made of its own
	}
	if err != nil {
		e.log.Warn("a build begins without a cache", "side", side, "error", err)
		if err := removeTree(e.cache(side)); err != nil {
			e.log.Warn("a build begins with half a cache", "side", side, "error", err)
		}
	}
}

// keepBase hands the built base to the cache when the job no longer needs it.
func (e *execution) keepBase() {
	if e.bases == nil || !e.keep {
		return
	}
	if err := e.bases.put(e.key, e.tree(job.Old), e.cache(job.Old)); err != nil {
		e.log.Warn("the base's build was not kept", "error", err)
	}
}

func (e *execution) buildOnce(ctx context.Context, side job.SideName) *job.Outcome {
	stopped := func() *job.Outcome {
		return &job.Outcome{Kind: job.Stopped, Text: "stopped: " + context.Cause(ctx).Error()}
	}
	fault := func(err error) *job.Outcome {
		if ctx.Err() != nil {
			return stopped()
		}
		e.blameDisk(err)
		return &job.Outcome{Kind: job.Fault, Side: side, Text: fmt.Sprintf("build %s: %v", side.The(e.line), err)}
	}
	cache := e.cache(side)
	if err := os.MkdirAll(filepath.Join(cache, "home"), 0o755); err != nil {
		return fault(err)
	}
	if err := e.box.Own(ctx, cache); err != nil {
		return fault(err)
	}
	inside := cacheDir
	cmd := sandbox.Command{
		Argv: []string{"/bin/sh", "-c", e.spec.Build.Run}, Tree: e.tree(side), Writable: true,
		Timeout: e.spec.Build.Timeout.Std(), Stdout: func([]byte) {}, OutputLimit: 1 << 40, LogTail: keptBuildLog,
	}
	if cmd.Timeout <= 0 {
		cmd.Timeout = config.DefaultBuildTimeout.Std()
	}
	if e.box.Src(cmd.Tree) == cmd.Tree {
		inside = cache // nothing is bound without a sandbox
	} else {
		cmd.ReadWrite = []sandbox.Bind{{Host: cache, Inside: cacheDir}}
	}
	cmd.Env = []string{"HOME=" + filepath.Join(inside, "home"), "XDG_CACHE_HOME=" + inside}
	way, err := e.connect(ctx, &cmd, side)
	if err != nil {
		return fault(err)
	}
	o, err := e.box.Run(ctx, cmd)
	err = errors.Join(err, e.disconnect(way, side))
	switch {
	case ctx.Err() != nil:
		return stopped()
	case err != nil:
		return fault(err)
	case o.OK():
		return e.enterable(side)
	case o.LimitHit == sandbox.LimitDisk, o.LimitHit == "" && e.box.DiskLow(cmd.Tree):
		// A build that fills a small disk has failed before the limit is looked at.
		return fault(disk.ErrLow)
	}
	return &job.Outcome{
		Kind: job.BuildFailed, Side: side,
		Text: fmt.Sprintf("%s did not build: %s", side.WordOn(e.line), buildEnd(o)),
		Log:  strings.ToValidUTF8(string(o.LogTail), "\uFFFD"),
	}
}

// enterable tells whether what a build left can be worked in: where it has
// locked the folder of its side no sandbox would start there, which is nothing
// that this machine did.
func (e *execution) enterable(side job.SideName) *job.Outcome {
	const enter = 0o500 // by its owner, who runs there
	info, err := os.Stat(e.tree(side))
	switch {
	case err != nil:
		return &job.Outcome{Kind: job.Fault, Side: side, Text: fmt.Sprintf("look at what was built of %s: %v", side.The(e.line), err)}
	case info.Mode()&enter != enter:
		return &job.Outcome{Kind: job.BuildFailed, Side: side,
			Text: fmt.Sprintf("%s did not build: its build took from itself the right to enter its folder (mode %04o)", side.WordOn(e.line), info.Mode().Perm())}
	}
	return nil
}

// blameDisk notes of an error that the disk was nearly full. It is told by the
// error: the text of an outcome holds what hostile programs have printed.
func (e *execution) blameDisk(err error) { e.low = e.low || errors.Is(err, disk.ErrLow) }

// diskLow says so of a fault that a full disk explains, whatever failed there.
// What found it full may have given back what it took.
func (e *execution) diskLow(o job.Outcome) (job.Outcome, bool) {
	if o.Kind != job.Fault {
		return o, false
	}
	if e.low {
		return o, true
	}
	if !e.box.DiskLow(filepath.Dir(e.dir)) {
		return o, false
	}
	o.Text = fmt.Sprintf("%v; what failed there: %s", disk.ErrLow, o.Text)
	return o, true
}

// makeRoom gives up what is kept of earlier jobs, for the next try.
func (e *execution) makeRoom() {
	if e.bases == nil {
		return
	}
	if err := errors.Join(e.bases.shrink(0), source.Prune(e.mirrors, 0)); err != nil {
		e.log.Warn("what is kept of earlier jobs stays on a full disk", "error", err)
	}
}

func buildEnd(o sandbox.Outcome) string {
	switch {
	case o.TimedOut:
		return fmt.Sprintf("timed out after %.0f s", o.Wall.Seconds())
	case o.LimitHit != "":
		return "hit its limit of " + o.LimitHit
	case o.Signal != "":
		return "ended by " + o.Signal
	}
	return fmt.Sprintf("exit %d", o.Exit)
}
