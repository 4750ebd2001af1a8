package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/prbench/prbench/internal/config"
	"github.com/prbench/prbench/internal/job"
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
	if len(e.spec.Build.Network) > 0 && side == job.Old && e.box.Facts().Kind != sandbox.None {
		e.notes = append(e.notes, "the builds had no network, though the configuration names hosts: this version does not serve them")
	}
	e.phase(map[job.SideName]job.Phase{job.Old: job.PhaseBuildBase, job.New: job.PhaseBuildHead}[side])
	out := e.buildOnce(ctx, side)
	if out == nil || out.Kind != job.BuildFailed || side != job.Old || len(plan.Extra) == 0 {
		return out
	}
	if err := e.again(ctx, plan); err != nil {
		o := sourceOutcome(err)
		return &o
	}
	if out = e.buildOnce(ctx, side); out == nil {
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

func (e *execution) buildOnce(ctx context.Context, side job.SideName) *job.Outcome {
	stopped := func() *job.Outcome {
		return &job.Outcome{Kind: job.Stopped, Text: "stopped: " + context.Cause(ctx).Error()}
	}
	fault := func(err error) *job.Outcome {
		if ctx.Err() != nil {
			return stopped()
		}
		return &job.Outcome{Kind: job.Fault, Side: side, Text: fmt.Sprintf("build the %s: %v", sideWord(side), err)}
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
	o, err := e.box.Run(ctx, cmd)
	switch {
	case ctx.Err() != nil:
		return stopped()
	case err != nil:
		return fault(err)
	case o.OK():
		return nil
	case o.LimitHit == sandbox.LimitDisk:
		return fault(errors.New("the disk of this machine is nearly full"))
	}
	return &job.Outcome{
		Kind: job.BuildFailed, Side: side,
		Text: fmt.Sprintf("%s did not build: %s", sideWord(side), buildEnd(o)),
		Log:  strings.ToValidUTF8(string(o.LogTail), "\uFFFD"),
	}
}

func sideWord(s job.SideName) string {
	if s == job.Old {
		return "base"
	}
	return "head"
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
