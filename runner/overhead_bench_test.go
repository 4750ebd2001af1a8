package runner_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/prbench/prbench/internal/config"
	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/report/stats"
	"github.com/prbench/prbench/runner"
	"github.com/prbench/prbench/runner/measure"
	"github.com/prbench/prbench/runner/sandbox"
)

// These benchmarks say what measuring costs, and whether the sandbox changes
// what is measured. docs/measured.md has figures, and the commands.

// measured runs both trees and fails where a process failed.
func measured(b *testing.B, exec measure.Executor, old, new string, spec job.Spec, sink func(job.Run)) job.Outcome {
	b.Helper()
	out, err := measure.Run(b.Context(), measure.Options{Exec: exec, Old: old, New: new, Dir: room(b), Spec: spec,
		Sink: func(r job.Run) error {
			if !r.OK() || len(r.Samples) == 0 {
				return fmt.Errorf("%s ended with %d: %s", r.Case, r.Exit, r.Log)
			}
			sink(r)
			return nil
		}})
	if err != nil || out.Kind != job.Measured {
		b.Fatalf("%v, %+v", err, out)
	}
	return out
}

// envCPUs names the CPUs that the benchmarks' processes are pinned to, such as
// "1", off which the runner goes; without it they share all.
const envCPUs = "BENCH_CPUS"

// machineBox is the sandbox that a runner with these CPUs has.
func machineBox(b *testing.B) *sandbox.Sandbox {
	b.Helper()
	cfg := sandbox.Config{Kind: sandbox.Bubblewrap, CPUs: os.Getenv(envCPUs), Memory: 8 << 30, Pids: 2048}
	if os.Geteuid() == 0 {
		cfg.User = "nobody"
	}
	box, err := sandbox.New(b.Context(), cfg)
	if err != nil {
		b.Fatal(err)
	}
	if err := runner.KeepOff(box.Facts().Pinned); err != nil {
		b.Fatal(err)
	}
	b.Logf("pinned to %v, next sandbox made ahead: %t", box.Facts().Pinned, box.Ahead())
	return box
}

// overhead is what a measuring phase takes beyond its processes, as a share of
// them in per cent.
func overhead(wall, children float64) float64 { return 100 * (wall - children) / children }

// BenchmarkMeasuringPhase is the overhead where a process runs half a second.
func BenchmarkMeasuringPhase(b *testing.B) {
	tree := room(b)
	spec := job.Spec{Runs: 10, Suites: []job.Suite{{Name: "half", Format: job.FormatNode, Command: `sh -c "sleep 0.5; echo half a=1: 2"`}}}
	box := machineBox(b)
	var wall, children float64
	var runs int
	for b.Loop() {
		out := measured(b, box, tree, tree, spec, func(job.Run) {})
		wall, children, runs = wall+out.WallSeconds, children+out.ChildSeconds, runs+out.Runs
	}
	b.ReportMetric(overhead(wall, children), "%overhead")
	b.ReportMetric(1000*(wall-children)/float64(runs), "ms/process")
}

// half sends the runs of one tree into the sandbox, and those of the other
// past it.
type half struct {
	inside, outside *sandbox.Sandbox
	bare            string
}

func (h half) of(tree string) *sandbox.Sandbox {
	if tree == h.bare {
		return h.outside
	}
	return h.inside
}

func (h half) Prepare(ctx context.Context, c sandbox.Command) (sandbox.Held, error) {
	return h.of(c.Tree).Prepare(ctx, c)
}
func (h half) Ahead() bool                                { return false }
func (h half) NewOut(parent string) (*sandbox.Out, error) { return h.inside.NewOut(parent) }
func (h half) Src(tree string) string                     { return h.of(tree).Src(tree) }
func (h half) Out(o *sandbox.Out) string                  { return h.inside.Out(o) }

// BenchmarkDistortion compares one program outside of the sandbox (old) with
// itself inside (new), in pairs of random order. The margin of the verdict is 1 %.
func BenchmarkDistortion(b *testing.B) {
	dirs := [2]string{room(b), room(b)}
	for _, dir := range dirs {
		build := exec.Command("go", "build", "-o", filepath.Join(dir, "spin"), "./testdata/overhead/spin")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			b.Fatalf("%v\n%s", err, out)
		}
	}
	bare, err := sandbox.New(b.Context(), sandbox.Config{Kind: sandbox.None})
	if err != nil {
		b.Fatal(err)
	}
	box := half{inside: bubblewrap(b), outside: bare, bare: dirs[0]}
	for _, kind := range []string{"cpu", "getppid", "read", "files"} {
		b.Run(kind, func(b *testing.B) {
			spec := job.Spec{Runs: 40, Suites: []job.Suite{{Name: kind, Format: job.FormatNode, Command: "./spin " + kind}}}
			var in stats.Input
			for b.Loop() {
				measured(b, box, dirs[0], dirs[1], spec, func(r job.Run) {
					side := &in.Old
					if r.Side == job.New {
						side = &in.New
					}
					*side = append(*side, r.Samples[0].Value)
				})
			}
			c := stats.Compare(in, stats.Design{Margin: .01, Analysis: stats.Paired})
			within := c.Interval[0] > -.01 && c.Interval[1] < .01
			b.Logf("%d pairs, cv %.2f %%: inside against outside %+.2f %%, from %+.2f %% to %+.2f %%: %s, shown to be within ±1 %%: %t",
				len(in.Old), 100*c.CV, 100*c.Improvement, 100*c.Interval[0], 100*c.Interval[1], c.Verdict, within)
			b.ReportMetric(100*c.Improvement, "%change")
			b.ReportMetric(100*(c.Interval[1]-c.Interval[0])/2, "%±")
		})
	}
}

// The variables that BenchmarkNodeSuite takes: the root of Node's sources or of
// what of them the benchmarks need (benchmark, test/common), the two programs,
// and, by commas, the files of benchmark/process that are left out.
const (
	envNodeSuite = "NODE_SUITE"
	envNodeOld   = "NODE_OLD"
	envNodeNew   = "NODE_NEW"
	envNodeSkip  = "NODE_SKIP"
)

// nodeRuns is the number of runs of each file on each side.
const nodeRuns = 3

// BenchmarkNodeSuite measures Node core's process suite by turns with our loop
// and with Node's own compare.js, and tells the overhead of each. It needs the
// variables above; without them there is nothing to measure.
func BenchmarkNodeSuite(b *testing.B) {
	suite, programs := os.Getenv(envNodeSuite), [2]string{os.Getenv(envNodeOld), os.Getenv(envNodeNew)}
	if suite == "" {
		b.Logf("set %s, %s and %s", envNodeSuite, envNodeOld, envNodeNew)
		return
	}
	var trees [2]string
	for i := range trees {
		trees[i] = nodeTree(b, suite, programs[i])
	}
	skip := strings.FieldsFunc(os.Getenv(envNodeSkip), func(r rune) bool { return r == ',' })
	files, err := filepath.Glob(filepath.Join(suite, "benchmark/process/*.js"))
	if err != nil || len(files) == 0 {
		b.Fatalf("no benchmark in %s: %v", suite, err)
	}
	spec := job.Spec{Runs: nodeRuns, Suites: []job.Suite{{Name: "process", Format: job.FormatNode, Command: "./node {case} {set}", Timeout: config.DefaultSuiteTimeout}}}
	for _, f := range files {
		if name := filepath.Base(f); !slices.Contains(skip, name) {
			spec.Suites[0].Cases = append(spec.Suites[0].Cases, "benchmark/process/"+name)
		}
	}
	box := machineBox(b)
	var ours, theirs phase
	for b.Loop() {
		out := measured(b, box, trees[0], trees[1], spec, func(job.Run) {})
		now := phase{out.WallSeconds, out.ChildSeconds}
		ours = ours.plus(now)
		other := compareJS(b, suite, trees, skip)
		theirs = theirs.plus(other)
		b.Logf("%d processes: ours %s; compare.js %s", out.Runs, now, other)
	}
	b.ReportMetric(overhead(ours.Wall, ours.Children), "%ours")
	b.ReportMetric(overhead(theirs.Wall, theirs.Children), "%compare.js")
}

// phase is a measuring phase, in seconds.
type phase struct{ Wall, Children float64 }

func (p phase) plus(q phase) phase { return phase{p.Wall + q.Wall, p.Children + q.Children} }
func (p phase) String() string {
	return fmt.Sprintf("%.2f s, of which processes %.2f s, overhead %.2f %%", p.Wall, p.Children, overhead(p.Wall, p.Children))
}

// nodeTree is a tree with Node's benchmarks and one node program.
func nodeTree(b *testing.B, suite, program string) string {
	b.Helper()
	dir := room(b)
	if err := os.CopyFS(filepath.Join(dir, "benchmark"), os.DirFS(filepath.Join(suite, "benchmark"))); err != nil {
		b.Fatal(err)
	}
	data, err := fs.ReadFile(os.DirFS(filepath.Dir(program)), filepath.Base(program))
	if err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "node"), data, 0o755); err != nil {
		b.Fatal(err)
	}
	return dir
}

// compareJS runs Node's own loop once over the same files.
func compareJS(b *testing.B, suite string, trees [2]string, skip []string) (p phase) {
	b.Helper()
	hook, err := filepath.Abs("testdata/overhead/children.js")
	if err != nil {
		b.Fatal(err)
	}
	result := filepath.Join(b.TempDir(), "children.json")
	args := []string{"--require", hook, "benchmark/compare.js", "--old", filepath.Join(trees[0], "node"), "--new", filepath.Join(trees[1], "node"),
		"--runs", strconv.Itoa(nodeRuns), "--no-progress"}
	for _, s := range skip {
		args = append(args, "--exclude", s)
	}
	all := []string{"--cpu-list", fmt.Sprintf("0-%d", runtime.NumCPU()-1), filepath.Join(trees[1], "node")} // whatever this process is pinned to
	cmd := exec.CommandContext(b.Context(), "taskset", append(append(all, args...), "--", "process")...)
	cmd.Dir = suite
	cmd.Env = append(os.Environ(), "CHILDREN_FILE="+result)
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("compare.js: %v\n%s", err, out)
	}
	data, err := os.ReadFile(result)
	if err == nil {
		err = json.Unmarshal(data, &p)
	}
	if err != nil {
		b.Fatal(err)
	}
	return p
}
