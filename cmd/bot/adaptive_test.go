package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/prbench/prbench/internal/config"
	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/report"
	"github.com/prbench/prbench/report/stats"
	"github.com/prbench/prbench/runner/measure"
	"github.com/prbench/prbench/runner/sandbox"
)

// noisy is a repository with two commits whose benchmarks print rates of a
// normal noise: calm.js hardly any, slow.js hardly any and 10 % less at the
// head, wild.js much.
func noisy(t *testing.T, looks string) string {
	t.Helper()
	dir := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	git := func(args ...string) {
		cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@example.test"}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	write("run.sh", `#!/bin/sh
awk -v name="$1" -v seed="$(date +%N)" -v factor="$(cat factor)" 'BEGIN {
  srand(seed); z = -6; for (i = 0; i < 12; i++) z += rand()
  rate = 1000; cv = 0.002
  if (name ~ /slow/) rate *= factor
  if (name ~ /wild/) cv = 0.15
  printf "%s n=1: %.5f\n", name, rate * (1 + cv * z)
}'
`)
	for _, c := range []string{"calm.js", "slow.js", "wild.js"} {
		write("bench/"+c, "")
	}
	write("factor", "1")
	write(".github/benchmark.yml", "version: 1\nsuites:\n  s: {format: node, cases: bench/*.js, command: \"./run.sh {case}\"}\ncompare: {looks: "+looks+"}\n")
	git("init", "-q", "-b", "main")
	git("add", "-A")
	git("commit", "-q", "-m", "base")
	write("factor", "0.9")
	git("commit", "-q", "-a", "-m", "head")
	return dir
}

type compared struct {
	Design struct {
		Analysis string
		Runs     string
		Looks    []int
	}
	Benchmarks []struct {
		Name     string
		Verdict  *string
		Interval []*float64
		Old, New struct{ N int }
	}
	Warnings []struct{ Code, Text string }
}

func readCompared(t *testing.T, text string) (c compared, byName map[string]string) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	byName = map[string]string{}
	for _, b := range c.Benchmarks {
		verdict := "none"
		if b.Verdict != nil {
			verdict = *b.Verdict
		}
		byName[b.Name] = fmt.Sprintf("%d %s", b.Old.N, verdict)
	}
	return c, byName
}

// wild.js is decided at the first look by a chance of 3 in 10,000, the level of
// that look.
func TestAnAdaptiveComparisonShowsItsLooksAndStopsEarly(t *testing.T) {
	repo, samples := noisy(t, "[8, 12, 100]"), filepath.Join(t.TempDir(), "samples.csv")
	code, out, errs := call(t.Context(), "compare", "--repo", repo, "--base", "HEAD~", "--head", "HEAD", "--format", "json", "--samples", samples)
	if code != exitOK {
		t.Fatalf("exit %d: %s", code, errs)
	}
	c, verdicts := readCompared(t, out)
	if c.Design.Analysis != "paired" || c.Design.Runs != "adaptive" || !slices.Equal(c.Design.Looks, []int{8, 12, 100}) {
		t.Errorf("design: %+v", c.Design)
	}
	if verdicts["bench/calm.js n=1"] != "8 equivalent" || verdicts["bench/slow.js n=1"] != "8 regression" || strings.HasPrefix(verdicts["bench/wild.js n=1"], "8 ") {
		t.Errorf("runs and verdicts: %v", verdicts)
	}
	for _, want := range []string{
		"look 1 of 3 (8 pairs): 2 resolved, 0 futile, 1 open; at most ",
		"  resolved now: ", "bench/slow.js n=1 (slower by >2 %)", "bench/calm.js n=1 (unchanged within ±2 %)",
		"  open: bench/wild.js n=1 (cv ", "look 2 of 3 (12 pairs): 2 resolved, ",
	} {
		if !strings.Contains(errs, want) {
			t.Errorf("no %q in:\n%s", want, errs)
		}
	}
	// The samples, read again by the design that they were measured for, give
	// the same report.
	if want := "bot report --runs adaptive --looks 8,12,100 " + samples; !strings.Contains(errs, want) {
		t.Errorf("no %q in:\n%s", want, errs)
	}
	code, out, errs = call(t.Context(), "report", "--runs", "adaptive", "--looks", "8,12,100", "--format", "json", samples)
	again, _ := readCompared(t, out)
	if diff := cmp.Diff(c.Benchmarks, again.Benchmarks); code != exitOK || diff != "" {
		t.Errorf("exit %d, %s; at first (-) and again (+):\n%s", code, errs, diff)
	}
}

// stopAt is a standard error that ends the command when it reads some words.
type stopAt struct {
	strings.Builder
	words string
	stop  context.CancelFunc
}

func (s *stopAt) Write(b []byte) (int, error) {
	n, err := s.Builder.Write(b)
	if strings.Contains(s.String(), s.words) {
		s.stop()
	}
	return n, err
}

func TestAStoppedComparisonIsJudgedAtItsLastLook(t *testing.T) {
	repo := noisy(t, "[8, 12, 100]")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var out strings.Builder
	errs := &stopAt{words: "look 2 of 3", stop: cancel}
	code := run(ctx, []string{"compare", "--repo", repo, "--base", "HEAD~", "--head", "HEAD", "--format", "json",
		"--samples", filepath.Join(t.TempDir(), "samples.csv")}, stream{in: strings.NewReader(""), out: &out, err: errs})
	c, verdicts := readCompared(t, out.String())
	if code != exitFailed || !strings.Contains(errs.String(), "stopped after ") {
		t.Errorf("exit %d: %s", code, errs.String())
	}
	if verdicts["bench/calm.js n=1"] != "8 equivalent" || !strings.HasPrefix(verdicts["bench/wild.js n=1"], "12 ") {
		t.Errorf("runs and verdicts: %v", verdicts)
	}
	if !slices.ContainsFunc(c.Warnings, func(w struct{ Code, Text string }) bool { return w.Code == "incomplete" }) {
		t.Errorf("warnings: %+v", c.Warnings)
	}
}

// lottery is an executor whose processes print, crash and print nothing by the
// throw of dice.
type lottery struct {
	rng *rand.Rand
	old string
}

func (l *lottery) Prepare(_ context.Context, c sandbox.Command) (sandbox.Held, error) {
	return ticket(func() (sandbox.Outcome, error) { return l.run(c) }), nil
}
func (l *lottery) Ahead() bool { return false }

// ticket is a process that is ready to begin.
type ticket func() (sandbox.Outcome, error)

func (t ticket) Run(context.Context) (sandbox.Outcome, error) { return t() }
func (t ticket) Discard() error                               { return nil }

func (l *lottery) run(c sandbox.Command) (sandbox.Outcome, error) {
	if l.rng.IntN(12) == 0 {
		return sandbox.Outcome{Exit: 1, Stdout: l.print(c, 1)}, nil
	}
	return sandbox.Outcome{Stdout: l.print(c, 4)}, nil
}

func (l *lottery) print(c sandbox.Command, most int) []byte {
	var b strings.Builder
	for i := range most {
		ns := 100 * (1 + []float64{0.003, 0.02, 0.1, 0}[i]*l.rng.NormFloat64())
		if c.Tree != l.old && i == 1 {
			ns *= 1.03
		}
		switch {
		case l.rng.IntN(15) == 0:
		case l.rng.IntN(20) == 0:
			fmt.Fprintf(&b, "Benchmark%d-2 100 NaN ns/op\n", i)
		case c.Tree != l.old && i == 3 && l.rng.IntN(2) == 0:
			fmt.Fprintf(&b, "BenchmarkOnlyNew-2 100 %d ns/op\n", 10+l.rng.IntN(2))
		default:
			fmt.Fprintf(&b, "Benchmark%d-2 100 %.3f ns/op %.2f MB/s %d B/op\n", i, ns, 1e5/ns, 64)
		}
	}
	return []byte(b.String())
}

func (l *lottery) NewOut(string) (*sandbox.Out, error) {
	return nil, fmt.Errorf("no output files here")
}
func (l *lottery) Src(string) string       { return "/src" }
func (l *lottery) Out(*sandbox.Out) string { return "/out" }

// The measuring loop and the report read the same runs: whatever is lost,
// missing or no number, they must decide alike at every look.
func TestTheStopRuleAndTheReportDecideAlike(t *testing.T) {
	looked := 0
	for seed := range uint64(40) {
		spec := job.Spec{Runs: job.Adaptive, Looks: []int{5, 8, 15, 25}, Margin: 0.02, Alpha: 0.05, Gate: seed%4 == 0,
			Suites: []job.Suite{{Name: "s", Format: job.FormatGo, Cases: []string{"a", "b"}, Command: "run {case}"}}}
		if seed%3 == 0 {
			spec.Suites[0].Analysis = string(stats.Welch)
		}
		attempt := 1 + int(seed%3)
		old, dir := t.TempDir(), t.TempDir()
		var runs []job.Run
		o := measure.Options{Exec: &lottery{rng: rand.New(rand.NewPCG(seed, 1)), old: old}, Old: old, New: t.TempDir(), Dir: dir,
			Spec: spec, Attempt: attempt, Rand: rand.New(rand.NewPCG(seed, 2)),
			Sink: func(r job.Run) error { runs = append(runs, r); return nil },
			Looked: func(l measure.Look) {
				looked++
				agree(t, fmt.Sprintf("seed %d, look %d", seed, l.Number), l, runs, spec, attempt)
			}}
		if _, err := measure.Run(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	if looked < 40 {
		t.Errorf("%d looks", looked)
	}
}

func agree(t *testing.T, where string, l measure.Look, runs []job.Run, spec job.Spec, attempt int) {
	t.Helper()
	c := report.NewCollector()
	for _, r := range runs {
		c.AddRun(r)
	}
	rep, err := report.Analyse(c.Data(), report.OptionsOf(&job.Job{Spec: spec, Attempt: attempt}))
	if err != nil {
		t.Fatal(err)
	}
	type decision struct {
		Verdict          stats.Verdict
		Resolved, Futile bool
		N, Look          int
	}
	key := func(cas, name, unit string) string {
		return cas + ": " + name[strings.LastIndex(name, ":")+1:] + " " + unit
	}
	want, got := map[string]decision{}, map[string]decision{}
	for _, row := range rep.Rows {
		if !row.Twin {
			s := row.Stat
			want[key(row.Case, " "+strings.TrimSpace(row.Name()), row.Unit)] = decision{s.Verdict, s.Resolved, s.Futile, min(s.Old.N, s.New.N), s.Look}
		}
	}
	for _, b := range l.Benchmarks {
		got[key(b.Case.Name, " "+b.Name, b.Unit)] = decision{b.Verdict, b.Resolved, b.Futile, b.N, b.Look}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: the report (-) and the stop rule (+) differ:\n%s", where, diff)
	}
}

func TestTheConfiguredLooksAreThoseOfTheStatistics(t *testing.T) {
	if !slices.Equal(config.DefaultLooks(), stats.DefaultLooks()) {
		t.Errorf("%v and %v", config.DefaultLooks(), stats.DefaultLooks())
	}
}

func TestALookNamesAFewBenchmarksAndCountsTheRest(t *testing.T) {
	l := measure.Look{Number: 2, Planned: 6, Pairs: 15}
	for i := range 9 {
		b := measure.Judged{Name: fmt.Sprintf("b%d\x1b[2J", i), Unit: "ns/op", Fresh: true, Outcome: stats.Outcome{CV: float64(i) / 100}}
		switch i % 3 {
		case 0:
			b.Resolved, b.Verdict = true, stats.Equivalent
		case 1:
			b.Futile = true
		}
		l.Benchmarks = append(l.Benchmarks, b)
	}
	for i := range 2 {
		l.Benchmarks = append(l.Benchmarks, measure.Judged{Name: fmt.Sprint("more", i)})
	}
	got := strings.Join(lookLines(l, 0.02), "\n")
	want := `look 2 of 6 (15 pairs): 3 resolved, 3 futile, 5 open
  resolved now: b6\x1b[2J [ns/op] (unchanged within ±2 %), b3\x1b[2J [ns/op] (unchanged within ±2 %), b0\x1b[2J [ns/op] (unchanged within ±2 %)
  futile now: b7\x1b[2J [ns/op] (cv 7 %), b4\x1b[2J [ns/op] (cv 4 %), b1\x1b[2J [ns/op] (cv 1 %)
  open: b8\x1b[2J [ns/op] (cv 8 %), b5\x1b[2J [ns/op] (cv 5 %), b2\x1b[2J [ns/op] (cv 2 %), 2 more`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
