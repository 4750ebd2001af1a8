package measure_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/runner/measure"
	"github.com/prbench/prbench/runner/sandbox"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// room is a folder that the sandbox's user can reach; t.TempDir is closed to others.
func room(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "prbench-measure-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func bubblewrap(t *testing.T) *sandbox.Sandbox {
	t.Helper()
	cfg := sandbox.Config{Kind: sandbox.Bubblewrap}
	if os.Geteuid() == 0 {
		cfg.User = "nobody"
	}
	s, err := sandbox.New(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// bench is a measuring of two trees under test.
type bench struct {
	measure.Options
	runs     []job.Run
	progress []job.Progress
}

// newBench makes the two trees from files by name; a name that begins with
// "old:" or "new:" is a file of that tree alone.
func newBench(t *testing.T, files map[string]string, suites ...job.Suite) *bench {
	t.Helper()
	dir := room(t)
	b := &bench{}
	b.Exec, b.Dir = bubblewrap(t), filepath.Join(dir, "out")
	b.Old, b.New = filepath.Join(dir, "old"), filepath.Join(dir, "new")
	for _, d := range []string{b.Dir, b.Old, b.New} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range files {
		for _, side := range []string{"old", "new"} {
			only, rest, found := strings.Cut(name, ":")
			if found && only != side {
				continue
			}
			if !found {
				rest = name
			}
			path := filepath.Join(dir, side, rest)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	for i := range suites {
		if suites[i].Name == "" {
			suites[i].Name = "suite"
		}
		if suites[i].Format == "" {
			suites[i].Format = job.FormatNode
		}
	}
	b.Spec = job.Spec{Suites: suites, Runs: 2}
	b.Sink = func(r job.Run) error { b.runs = append(b.runs, r); return nil }
	b.Progress = func(p job.Progress) { b.progress = append(b.progress, p) }
	return b
}

func (b *bench) run(t *testing.T) job.Outcome {
	t.Helper()
	o, err := measure.Run(t.Context(), b.Options)
	if err != nil {
		t.Fatalf("measure: %v", err)
	}
	if o.Runs != len(b.runs) {
		t.Errorf("the outcome counts %d runs, the sink got %d", o.Runs, len(b.runs))
	}
	return o
}

func (b *bench) count(match func(job.Run) bool) (n int) {
	for _, r := range b.runs {
		if match(r) {
			n++
		}
	}
	return n
}

// says prints a result of the benchmark in Node's form.
func says(rate string) string { return "#!/bin/sh\necho \"${1:-x.js} n=1: " + rate + "\"\n" }

var byCase = job.Suite{Cases: []string{"bench/*.js"}, Command: "./run.sh {case}"}

func TestRunsComeInPairsOfRandomOrderAndCasesTakeTurns(t *testing.T) {
	b := newBench(t, map[string]string{"old:run.sh": says("1"), "new:run.sh": says("2"), "bench/a.js": "", "bench/b.js": ""}, byCase)
	b.Spec.Runs = 8
	o := b.run(t)
	if o.Kind != job.Measured || o.Pairs != 8 || len(b.runs) != 32 {
		t.Fatalf("%+v, %d runs", o, len(b.runs))
	}
	firsts := map[job.SideName]int{}
	for i := 0; i < len(b.runs); i += 2 {
		first, second := b.runs[i], b.runs[i+1]
		wantCase, wantPair := []string{"bench/a.js", "bench/b.js"}[i/2%2], i/4
		for _, r := range []job.Run{first, second} {
			if r.Case != wantCase || r.Pair != wantPair || r.Suite != "suite" {
				t.Fatalf("run %d is of %s, pair %d; want %s, pair %d", i, r.Case, r.Pair, wantCase, wantPair)
			}
			want := map[job.SideName]float64{job.Old: 1, job.New: 2}[r.Side]
			if len(r.Samples) != 1 || r.Samples[0].Value != want || r.Samples[0].Benchmark != r.Case {
				t.Errorf("samples of the %s side: %+v", r.Side, r.Samples)
			}
			if r.Wall <= 0 || r.Started.IsZero() || !r.OK() {
				t.Errorf("record: %+v", r)
			}
		}
		if first.Side != second.Side.Other() || first.Position != 0 || second.Position != 1 {
			t.Errorf("pair %d: %s at %d, %s at %d", wantPair, first.Side, first.Position, second.Side, second.Position)
		}
		firsts[first.Side]++
	}
	if firsts[job.Old] == 0 || firsts[job.New] == 0 {
		t.Errorf("the same side was first in all of 16 pairs: %v", firsts) // by chance: 1 in 32768
	}
	last := b.progress[len(b.progress)-1]
	if last.Done != 32 || last.Total != 32 || last.Left != 0 || b.progress[0].Total != 32 || b.progress[0].Phase != job.PhaseMeasure {
		t.Errorf("progress: first %+v, last %+v", b.progress[0], last)
	}
	for i, p := range b.progress {
		c, pair := (i/2)%2, i/4+1
		if want := "suite: bench/" + []string{"a", "b"}[c] + ".js"; p.Case != want || p.CaseNumber != c+1 || p.Cases != 2 || p.Pair != pair || p.Pairs != 8 || p.Looks != 0 {
			t.Errorf("progress %d: %+v, want %s, pair %d", i, p, want, pair)
		}
	}
}

func TestACrashOfOneSideIsToldAndTheOtherSideGoesOn(t *testing.T) {
	b := newBench(t, map[string]string{"old:run.sh": says("1"), "new:run.sh": "#!/bin/sh\necho boom >&2; exit 3\n", "bench/a.js": "", "bench/b.js": ""}, byCase)
	b.Spec.Runs = 10
	o := b.run(t)
	if o.Kind != job.Measured || o.Side != job.New || !strings.Contains(o.Text, "head failed: suite: bench/a.js, exit 3") || !strings.Contains(o.Log, "boom") {
		t.Errorf("outcome: %+v", o)
	}
	if len(b.runs) != 2*2*3 {
		t.Errorf("%d runs; a side that failed three times is not tried ten times", len(b.runs))
	}
	if n := b.count(func(r job.Run) bool { return r.Side == job.New && r.Exit == 3 && strings.Contains(r.Log, "boom") }); n != 6 {
		t.Errorf("%d records of the crash", n)
	}
	if n := strings.Join(o.Notes, "\n"); !strings.Contains(n, "bench/b.js failed in all of its first 3 runs on the new side") {
		t.Errorf("notes: %s", n)
	}
}

func TestACrashThatComesAndGoesDoesNotEndItsCase(t *testing.T) {
	b := newBench(t, nil, job.Suite{Command: "replaced"})
	b.Exec = &crashing{Sandbox: bubblewrap(t), every: 3}
	b.Spec.Runs = 6
	o := b.run(t)
	if o.Kind != job.Measured || len(b.runs) != 12 {
		t.Errorf("%+v, %d runs", o, len(b.runs))
	}
	if n := b.count(func(r job.Run) bool { return !r.OK() }); n != 4 {
		t.Errorf("%d failed runs, want 4", n)
	}
}

// crashing runs every n-th process as one that fails, and the others well.
type crashing struct {
	*sandbox.Sandbox
	every int64
	n     atomic.Int64
}

func (c *crashing) Prepare(ctx context.Context, cmd sandbox.Command) (sandbox.Held, error) {
	script := "echo 'x.js n=1: 5'"
	if c.n.Add(1)%c.every == 0 {
		script = "exit 1"
	}
	cmd.Argv = []string{"/bin/sh", "-c", script}
	return c.Sandbox.Prepare(ctx, cmd)
}

func TestACaseThatFailsOnBothSidesGivesAPlainResult(t *testing.T) {
	b := newBench(t, map[string]string{"run.sh": "#!/bin/sh\nexit 4\n"}, job.Suite{Command: "./run.sh"})
	b.Spec.Runs = 30
	o := b.run(t)
	if o.Kind != job.NothingMeasured || o.Side != job.Old || !strings.Contains(o.Text, "base failed: suite, exit 4") || len(b.runs) != 6 {
		t.Errorf("%+v, %d runs", o, len(b.runs))
	}
}

func TestASuiteThatPrintsNothingIsNothingMeasured(t *testing.T) {
	b := newBench(t, map[string]string{"run.sh": "#!/bin/sh\necho hello\n"}, job.Suite{Command: "./run.sh"})
	b.Spec.Runs = 30
	o := b.run(t)
	if o.Kind != job.NothingMeasured || len(b.runs) != 2 || !strings.Contains(strings.Join(o.Notes, ""), "suite printed no benchmark") || !strings.Contains(o.Log, "hello") {
		t.Errorf("%+v, %d runs", o, len(b.runs))
	}
}

func TestASuiteWithoutCasesIsNothingMeasured(t *testing.T) {
	b := newBench(t, map[string]string{"run.sh": says("1")}, byCase)
	if o := b.run(t); o.Kind != job.NothingMeasured || o.Text == "" {
		t.Errorf("%+v", o)
	}
}

func TestTheFilterChoosesCasesElseBenchmarks(t *testing.T) {
	two := "#!/bin/sh\necho \"$1 n=1: 1\"; echo \"$1 n=2: 2\"\n"
	for _, c := range []struct {
		filter         string
		cases, samples string
	}{
		{`/a\.js$`, "bench/a.js", "n=1 n=2"},
		{`n=2`, "bench/a.js bench/b.js", "n=2"},
		{`b\.js|n=2`, "bench/b.js", "n=1 n=2"},
	} {
		b := newBench(t, map[string]string{"run.sh": two, "bench/a.js": "", "bench/b.js": ""}, byCase)
		b.Spec.Filter = c.filter
		if o := b.run(t); o.Kind != job.Measured {
			t.Errorf("%s: %+v", c.filter, o)
		}
		cases, samples := map[string]bool{}, map[string]bool{}
		for _, r := range b.runs {
			cases[r.Case] = true
			for _, s := range r.Samples {
				samples[s.Config] = true
			}
		}
		if got := keys(cases); got != c.cases {
			t.Errorf("%s runs %s", c.filter, got)
		}
		if got := keys(samples); got != c.samples {
			t.Errorf("%s keeps %s", c.filter, got)
		}
	}
	b := newBench(t, map[string]string{"run.sh": two, "bench/a.js": "", "bench/b.js": ""}, byCase)
	b.Spec.Filter, b.Spec.Runs = "nowhere", 30
	if o := b.run(t); o.Kind != job.NothingMeasured || !strings.Contains(o.Text, `"nowhere"`) || len(b.runs) != 4 {
		t.Errorf("a filter that matches nothing: %+v, %d runs", o, len(b.runs))
	}
}

func keys(m map[string]bool) string {
	var s []string
	for k := range m {
		s = append(s, k)
	}
	slices.Sort(s)
	return strings.Join(s, " ")
}

func TestACaseOfOneSideRunsThereAlone(t *testing.T) {
	b := newBench(t, map[string]string{"run.sh": says("1"), "bench/a.js": "", "new:bench/new.js": "", "old:bench/gone.js": ""}, byCase)
	o := b.run(t)
	got := map[string]int{}
	for _, r := range b.runs {
		got[r.Case+" "+string(r.Side)]++
	}
	want := map[string]int{"bench/a.js old": 2, "bench/a.js new": 2, "bench/new.js new": 2, "bench/gone.js old": 2}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("runs: %v", got)
	}
	if n := strings.Join(o.Notes, "\n"); !strings.Contains(n, "only the new side has suite: bench/new.js") {
		t.Errorf("notes: %s", n)
	}
	if last := b.progress[len(b.progress)-1]; last.Done != 8 || last.Total != 8 {
		t.Errorf("progress: %+v", last)
	}
}

func TestACancelKeepsWhatWasMeasured(t *testing.T) {
	b := newBench(t, map[string]string{"run.sh": says("1"), "bench/a.js": ""}, byCase)
	b.Spec.Runs = 50
	ctx, cancel := context.WithCancelCause(t.Context())
	b.Sink = func(r job.Run) error {
		if b.runs = append(b.runs, r); len(b.runs) == 7 {
			cancel(errors.New("cancelled by a person"))
		}
		return nil
	}
	o, err := measure.Run(ctx, b.Options)
	if err != nil || o.Kind != job.Stopped || o.Runs != 7 || len(b.runs) != 7 || !strings.Contains(o.Text, "by a person") {
		t.Errorf("%+v, %v, %d runs", o, err, len(b.runs))
	}
}

func TestAPortClashIsAFaultOfTheMachine(t *testing.T) {
	for _, text := range []string{"Error: listen EADDRINUSE: address already in use :::8080", "bind: Address already in use"} {
		b := newBench(t, map[string]string{"run.sh": "#!/bin/sh\necho '" + text + "' >&2; exit 1\n"}, job.Suite{Command: "./run.sh"})
		if o := b.run(t); o.Kind != job.Fault || !strings.Contains(o.Text, "port") || !strings.Contains(o.Log, text) ||
			o.Clash == nil || o.Clash.Case != "suite" || o.Clash.Side != o.Side {
			t.Errorf("%+v", o)
		}
	}
	b := newBench(t, map[string]string{"run.sh": "#!/bin/sh\necho EADDRINUSE, trying another >&2\n" + says("1")[10:]}, job.Suite{Command: "./run.sh"})
	if o := b.run(t); o.Kind != job.Measured {
		t.Errorf("a clash that the benchmark got over: %+v", o)
	}
}

func TestARecordThatCannotBeKeptEndsTheMeasuring(t *testing.T) {
	b := newBench(t, map[string]string{"run.sh": says("1")}, job.Suite{Command: "./run.sh"})
	b.Sink = func(job.Run) error { return errors.New("disk full") }
	o, err := measure.Run(t.Context(), b.Options)
	if err != nil || o.Kind != job.Fault || !strings.Contains(o.Text, "disk full") {
		t.Errorf("%+v, %v", o, err)
	}
}

func TestTheBudgetEndsAllCasesEvenly(t *testing.T) {
	b := newBench(t, map[string]string{"run.sh": says("1"), "bench/a.js": "", "bench/b.js": ""}, byCase)
	b.Spec.Runs, b.Spec.Budget = 100, job.Duration(time.Hour)
	now := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	b.Now = func() time.Time { now = now.Add(5 * time.Minute); return now }
	o := b.run(t)
	a := b.count(func(r job.Run) bool { return r.Case == "bench/a.js" })
	if o.Kind != job.Measured || a == 0 || a == 200 || a*2 != len(b.runs) {
		t.Errorf("%d of %d runs are of the first case: %+v", a, len(b.runs), o)
	}
	if n := strings.Join(o.Notes, ""); !strings.Contains(n, "budget of 1h0m0s ended after") {
		t.Errorf("notes: %s", n)
	}
}
