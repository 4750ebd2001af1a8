package measure_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/runner/measure"
	"github.com/prbench/prbench/runner/sandbox"
)

// machine is an executor whose processes print what a function says, without
// any process. Its clock goes on by takes a run.
type machine struct {
	prints func(c string, side job.SideName, run int) string
	takes  time.Duration

	mu   map[string]int // runs so far, by case and side
	oldT string
	now  time.Time
}

func (m *machine) Prepare(_ context.Context, c sandbox.Command) (sandbox.Held, error) {
	return run(func() (sandbox.Outcome, error) { return m.run(c) }), nil
}

// run is a process that is ready to begin.
type run func() (sandbox.Outcome, error)

func (r run) Run(context.Context) (sandbox.Outcome, error) { return r() }
func (r run) Discard() error                               { return nil }

func (m *machine) Ahead() bool { return false }

func (m *machine) run(c sandbox.Command) (sandbox.Outcome, error) {
	side := job.New
	if c.Tree == m.oldT {
		side = job.Old
	}
	name := filepath.Base(c.Argv[len(c.Argv)-1])
	key := name + string(side)
	run := m.mu[key]
	m.mu[key]++
	m.now = m.now.Add(m.takes)
	text := m.prints(name, side, run)
	o := sandbox.Outcome{Wall: m.takes, Stdout: []byte(text), LogTail: []byte(text)}
	if text == "crash" {
		o.Exit = 1
	}
	return o, nil
}

func (m *machine) NewOut(string) (*sandbox.Out, error) {
	return nil, errors.New("no output files here")
}
func (m *machine) Src(string) string       { return "/src" }
func (m *machine) Out(*sandbox.Out) string { return "/out" }

// rated prints rates whose spread and effect are set by case: a seeded normal
// noise around 1000.
func rated(cv, effect map[string]float64) func(string, job.SideName, int) string {
	return func(c string, side job.SideName, run int) string {
		rng := rand.New(rand.NewPCG(uint64(len(c))<<32|uint64(c[0]), uint64(run)<<1|uint64(len(side)&1)+7*uint64(side[0])))
		mean := 1000.0
		if side == job.New {
			mean *= 1 + effect[c]
		}
		return fmt.Sprintf("%s n=1: %.6f\n", c, mean*(1+cv[c]*rng.NormFloat64()))
	}
}

// newAdaptive is an adaptive measuring of named cases on a machine.
func newAdaptive(t *testing.T, m *machine, cases ...string) *bench {
	t.Helper()
	files := map[string]string{}
	for _, c := range cases {
		files["bench/"+c] = ""
	}
	b := newBench(t, files, byCase)
	if m.takes == 0 {
		m.takes = time.Second
	}
	m.mu, m.oldT = map[string]int{}, b.Old
	b.Exec, b.Now = m, func() time.Time { return m.now }
	b.Spec.Runs, b.Spec.Looks, b.Spec.Margin = job.Adaptive, []int{8, 15, 25, 40, 65, 100}, 0.02
	return b
}

// pairs counts the runs of the new side.
func (b *bench) pairs(name string) int {
	return b.count(func(r job.Run) bool { return r.Side == job.New && filepath.Base(r.Case) == name })
}

func TestACaseIsMeasuredUntilItsBenchmarkIsResolvedOrFutile(t *testing.T) {
	m := &machine{prints: rated(map[string]float64{"calm.js": 0.002, "middling.js": 0.025, "wild.js": 0.15, "slower.js": 0.004},
		map[string]float64{"slower.js": -0.1})}
	b := newAdaptive(t, m, "calm.js", "middling.js", "wild.js", "slower.js")
	var looks []measure.Look
	b.Looked = func(l measure.Look) { looks = append(looks, l) }
	o := b.run(t)
	if o.Kind != job.Measured || o.Pairs != 100 {
		t.Errorf("%+v", o)
	}
	middling, wild := b.pairs("middling.js"), b.pairs("wild.js")
	if b.pairs("calm.js") != 8 || b.pairs("slower.js") != 8 || wild <= 8 || wild >= 100 || middling < 25 {
		t.Errorf("pairs: calm %d, slower %d, wild %d, middling %d", b.pairs("calm.js"), b.pairs("slower.js"), wild, middling)
	}
	resolved, futile, open := looks[0].Counts()
	if resolved != 2 || futile != 0 || open != 2 || looks[0].Pairs != 8 || looks[0].Number != 1 || looks[0].Planned != 6 || looks[0].Last || looks[0].Left <= 0 {
		t.Errorf("first look: %d resolved, %d futile, %d open; %+v", resolved, futile, open, looks[0])
	}
	last := looks[len(looks)-1]
	if resolved, futile, open = last.Counts(); resolved != 3 || futile != 1 || open != 0 || last.Pairs != middling || !last.Last {
		t.Errorf("last look: %d resolved, %d futile, %d open; %+v", resolved, futile, open, last)
	}
	for _, j := range last.Benchmarks {
		if want := j.Name == "middling.js n=1"; j.Fresh != want {
			t.Errorf("%s fresh at the last look: %v", j.Name, j.Fresh)
		}
		if j.Name == "slower.js n=1" && j.Verdict != "regression" || j.Name == "calm.js n=1" && j.Verdict != "equivalent" {
			t.Errorf("%s: %s", j.Name, j.Verdict)
		}
	}
	if first := b.progress[0]; !first.AtMost || first.Total != 800 || first.Look != 1 || first.Looks != 6 || first.LookLeft != 0 {
		t.Errorf("progress at first: %+v", first)
	}
	// A second a run, and of each of four cases six of eight pairs and one run are left.
	if p := b.progress[16]; p.Case != "suite: bench/calm.js" || p.Pair != 3 || p.Pairs != 8 || p.LookLeft.Std() != 48*time.Second {
		t.Errorf("progress in the third pair: %+v", p)
	}
	if end := b.progress[len(b.progress)-1]; end.Done != len(b.runs) {
		t.Errorf("progress at last: %+v, %d runs", end, len(b.runs))
	}
}

func TestACaseGoesOnUntilItsLastBenchmarkIsDecided(t *testing.T) {
	calm, middling := rated(map[string]float64{"two.js": 0.002}, nil), rated(map[string]float64{"two.js": 0.025}, nil)
	m := &machine{prints: func(c string, side job.SideName, run int) string {
		return calm(c, side, run) + strings.Replace(middling(c, side, run), "n=1", "n=2", 1)
	}}
	b := newAdaptive(t, m, "two.js")
	var first measure.Look
	b.Looked = func(l measure.Look) {
		if l.Number == 1 {
			first = l
		}
	}
	b.run(t)
	if resolved, _, open := first.Counts(); resolved != 1 || open != 1 || b.pairs("two.js") < 15 {
		t.Errorf("at the first look %d are resolved and %d open; %d pairs", resolved, open, b.pairs("two.js"))
	}
}

func TestTheBudgetCutsAnAdaptiveMeasuringAtALook(t *testing.T) {
	m := &machine{takes: time.Minute, prints: rated(map[string]float64{"a.js": 0.03, "b.js": 0.03}, nil)}
	b := newAdaptive(t, m, "a.js", "b.js")
	b.Spec.Budget = job.Duration(90 * time.Minute) // 8 pairs take 32 minutes, 15 an hour, 25 a hundred minutes
	o := b.run(t)
	if o.Kind != job.Measured || b.pairs("a.js") != 15 || b.pairs("b.js") != 15 || len(b.runs) != 60 {
		t.Errorf("%+v, %d runs", o, len(b.runs))
	}
	if n := strings.Join(o.Notes, ""); !strings.Contains(n, "budget of 1h30m0s ended after 15 of 100 pairs: the next look, at 25, would have taken about 40m0s more") {
		t.Errorf("notes: %s", n)
	}
}

func TestACancelLeavesTheCasesEven(t *testing.T) {
	m := &machine{prints: rated(map[string]float64{"a.js": 0.03, "b.js": 0.03, "c.js": 0.03}, nil)}
	b := newAdaptive(t, m, "a.js", "b.js", "c.js")
	ctx, cancel := context.WithCancelCause(t.Context())
	b.Sink = func(r job.Run) error {
		if b.runs = append(b.runs, r); len(b.runs) == 6*11 {
			cancel(errors.New("enough"))
		}
		return nil
	}
	o, err := measure.Run(ctx, b.Options)
	if err != nil || o.Kind != job.Stopped || b.pairs("a.js") != 11 || b.pairs("b.js") != 11 || b.pairs("c.js") != 11 {
		t.Errorf("%+v, %v; %d, %d, %d pairs", o, err, b.pairs("a.js"), b.pairs("b.js"), b.pairs("c.js"))
	}
}

func TestALaterAttemptNeedsMoreEvidence(t *testing.T) {
	pairs := func(attempt int) int {
		m := &machine{prints: rated(map[string]float64{"a.js": 0.004}, nil)}
		b := newAdaptive(t, m, "a.js")
		b.Attempt = attempt
		b.run(t)
		return b.pairs("a.js")
	}
	if first, eighth := pairs(1), pairs(8); first >= eighth {
		t.Errorf("%d pairs at the first attempt, %d at the eighth", first, eighth)
	}
}

func TestAGateWaitsForARegressionThatStandsAmongAllBenchmarks(t *testing.T) {
	var names []string
	cv, effect := map[string]float64{}, map[string]float64{}
	for i := range 40 {
		name := fmt.Sprintf("%c%d.js", 'a'+i%26, i)
		names = append(names, name)
		cv[name] = 0.01
	}
	effect[names[0]] = -0.045
	run := func(gate bool) int {
		b := newAdaptive(t, &machine{prints: rated(cv, effect)}, names...)
		b.Spec.Gate = gate
		b.run(t)
		return b.pairs(names[0])
	}
	if alone, gated := run(false), run(true); alone >= gated {
		t.Errorf("the regression takes %d pairs alone and %d for a gate", alone, gated)
	}
}

func TestARunThatIsLostKeepsItsPlace(t *testing.T) {
	calm := rated(map[string]float64{"a.js": 0.002}, nil)
	m := &machine{prints: func(c string, side job.SideName, run int) string {
		switch {
		case side == job.New && run == 3:
			return "crash"
		case side == job.Old && run == 5:
			return "a.js n=1: nan\n"
		}
		return calm(c, side, run)
	}}
	b := newAdaptive(t, m, "a.js")
	var look measure.Look
	b.Looked = func(l measure.Look) { look = l }
	b.run(t)
	if b.pairs("a.js") < 8 || len(look.Benchmarks) != 1 || look.Benchmarks[0].N != look.Pairs-2 {
		t.Errorf("%+v", look)
	}
}

func TestARateBesideATimeDecidesOnce(t *testing.T) {
	m := &machine{prints: func(_ string, side job.SideName, run int) string {
		rng := rand.New(rand.NewPCG(uint64(side[0]), uint64(run)))
		return fmt.Sprintf("BenchmarkX-2 100 %.3f ns/op %.3f MB/s\n", 100*(1+0.002*rng.NormFloat64()), 100*math.Abs(rng.NormFloat64()))
	}}
	b := newAdaptive(t, m, "a.js")
	b.Spec.Suites[0].Format = job.FormatGo
	var look measure.Look
	b.Looked = func(l measure.Look) { look = l }
	b.run(t)
	if len(look.Benchmarks) != 1 || look.Benchmarks[0].Unit != "ns/op" || look.Pairs != 8 {
		t.Errorf("%+v", look)
	}
}

func TestACaseOfOneSideEndsAtTheFirstLook(t *testing.T) {
	b := newAdaptive(t, &machine{prints: rated(map[string]float64{"a.js": 0.025}, nil)}, "a.js", "x.js")
	extra := newBench(t, map[string]string{"new:bench/new.js": "", "bench/a.js": ""}, byCase)
	b.Old, b.New = extra.Old, extra.New
	b.Exec.(*machine).oldT = b.Old
	b.run(t)
	if b.pairs("new.js") != 8 || b.pairs("a.js") < 15 {
		t.Errorf("%d and %d pairs", b.pairs("new.js"), b.pairs("a.js"))
	}
}

func TestAPlanThatIsNoDesignIsRefused(t *testing.T) {
	for name, change := range map[string]func(*job.Spec){
		"a look at one pair":  func(s *job.Spec) { s.Looks = []int{1, 8} },
		"a margin of 80 %":    func(s *job.Spec) { s.Margin = 0.8 },
		"an unknown analysis": func(s *job.Spec) { s.Suites = slices.Clone(s.Suites); s.Suites[0].Analysis = "bayes" },
	} {
		b := newAdaptive(t, &machine{prints: rated(nil, nil)}, "a.js")
		change(&b.Spec)
		if _, err := measure.Run(t.Context(), b.Options); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// The processes are real ones, in the real sandbox.
func TestAnAdaptiveMeasuringOfRealProcessesStopsEarly(t *testing.T) {
	script := "#!/bin/sh\necho \"$1 n=1: 1000.$$\"\n" // the process's number is the noise
	b := newBench(t, map[string]string{"run.sh": script, "bench/a.js": ""}, byCase)
	b.Spec.Runs, b.Spec.Looks, b.Spec.Margin = job.Adaptive, []int{8, 15, 25, 40, 65, 100}, 0.02
	if o := b.run(t); o.Kind != job.Measured || len(b.runs) != 16 {
		t.Errorf("%+v, %d runs", o, len(b.runs))
	}
}
