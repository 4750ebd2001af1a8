package stats

import (
	"math"
	"slices"
	"testing"
)

// pairsOf draws pairs of a given cv and true improvement.
func pairsOf(seed uint64, n int, cv, improvement float64) Input {
	return Input{Old: normalSamples(seed, n, 100, 100*cv), New: normalSamples(seed+1000, n, 100*(1+improvement), 100*cv)}
}

func TestABenchmarkIsResolvedAtTheVerdictsThatSettleIt(t *testing.T) {
	for v, want := range map[Verdict][2]bool{ // without and with a roll-up
		Faster: {true, true}, Regression: {true, true}, Equivalent: {true, true}, SlowerWithin: {true, true},
		NotComparable: {true, true}, NoWorse: {false, true}, Slower: {}, Inconclusive: {}, NoVerdict: {},
	} {
		if got := [2]bool{settled(v, false), settled(v, true)}; got != want {
			t.Errorf("%q: settled %v, want %v", v, got, want)
		}
	}
}

func TestAClearCaseStopsAtTheFirstLook(t *testing.T) {
	d := Design{Looks: DefaultLooks()}
	judge := NewJudge(d)
	clear := []Input{pairsOf(1, 8, 0.002, 0), pairsOf(2, 8, 0.002, -0.1), {Old: times(8, 4), New: times(8, 4), Better: LowerIsBetter, Count: true}, {Old: times(8, 1)}}
	got := judge.DecideCase(8, clear)
	if !got.Stop || got.Resolved != 4 || got.Complete {
		t.Errorf("%+v", got)
	}
	var verdicts []Verdict
	for _, o := range got.Outcomes {
		verdicts = append(verdicts, o.Verdict)
	}
	if !slices.Equal(verdicts, []Verdict{Equivalent, Regression, Equivalent, NotComparable}) {
		t.Errorf("verdicts %q", verdicts)
	}
	if open := judge.DecideCase(8, append(clear, pairsOf(3, 8, 0.02, 0))); open.Stop || open.Open != 1 {
		t.Errorf("with one benchmark open: %+v", open)
	}
}

func TestAHopelessCaseStopsAsFutile(t *testing.T) {
	judge := NewJudge(Design{Looks: DefaultLooks()})
	got := judge.DecideCase(65, []Input{pairsOf(5, 65, 0.25, 0)})
	if !got.Stop || got.Futile != 1 {
		t.Errorf("%+v", got)
	}
}

func TestACaseThatPrintedNothingStopsAtItsFirstLook(t *testing.T) {
	judge := NewJudge(Design{Looks: DefaultLooks()})
	if judge.DecideCase(7, nil).Stop || !judge.DecideCase(8, nil).Stop {
		t.Error("want a stop at 8 attempted pairs, not at 7")
	}
}

func TestTheNextLookFollowsThePlan(t *testing.T) {
	d := Design{Looks: DefaultLooks()}
	for _, c := range []struct {
		attempted, next int
		ok              bool
	}{{0, 8, true}, {7, 8, true}, {8, 15, true}, {20, 25, true}, {99, 100, true}, {100, 100, false}, {130, 100, false}} {
		if next, ok := d.NextLook(c.attempted); next != c.next || ok != c.ok {
			t.Errorf("after %d: %d %v, want %d %v", c.attempted, next, ok, c.next, c.ok)
		}
	}
	fixed := Design{Runs: 30}
	if next, ok := fixed.NextLook(12); next != 30 || !ok {
		t.Errorf("fixed, after 12: %d %v", next, ok)
	}
	if _, ok := fixed.NextLook(30); ok {
		t.Error("fixed, after 30: the plan is complete")
	}
	if got := NewJudge(fixed).DecideCase(30, []Input{pairsOf(5, 30, 0.5, 0)}); !got.Stop || !got.Complete {
		t.Errorf("fixed, after 30: %+v", got)
	}
}

// The chance of being resolved is counted on continuations of the run, which
// know nothing of the formula.
func TestTheChanceOfResolvingAgreesWithContinuations(t *testing.T) {
	for _, c := range []struct {
		name        string
		cv, improve float64
		declared    int
	}{
		{"near zero, small spread", 0.02, 0.001, 0},
		{"near zero, middling spread", 0.06, 0.002, 0},
		{"near the margin", 0.03, -0.019, 0},
		{"far beyond the margin", 0.06, -0.03, 0},
		{"an improvement in noise", 0.12, 0.02, 0},
		{"a gate near the margin", 0.06, -0.025, 10},
		{"a gate at zero", 0.08, 0, 10},
	} {
		j := NewJudge(Design{Looks: []int{200, 1000}, Declared: c.declared})
		at := Comparison{CV: c.cv, Improvement: c.improve, PerSide: 200}
		formula := at.chanceOfResolving(j)

		// The last estimate moves by s around the present one; the last
		// interval is the nominal one of the last look.
		rng := newRand(77)
		const reps = 20_000
		resolved := 0
		last := j.at(2)
		for range reps {
			final := c.improve + c.cv*math.Sqrt(2./200-2./1000)*rng.NormFloat64()
			ct := printedContrast(final, c.cv*math.Sqrt(2./1000), inf)
			v, _ := judge(ct, 0.02, last)
			if c.declared > 0 && v == Regression && last.exceeds(ct, -0.02, familyLevel) >= 0 {
				continue
			}
			if settled(v, c.declared > 0) {
				resolved++
			}
		}
		if counted := float64(resolved) / reps; math.Abs(counted-formula) > 0.015 {
			t.Errorf("%s: the formula gives %.3f, continuations %.3f", c.name, formula, counted)
		}
	}
}

func TestARegressionInAGateResolvesAtTheLevelOfTheFamily(t *testing.T) {
	looks := []int{8, 20}
	seenOpen, seenFamily := false, false
	for seed := range uint64(150) {
		in := pairsOf(seed, 8, 0.012, -0.065)
		alone, gate := NewJudge(Design{Looks: looks}).Decide(in), NewJudge(Design{Looks: looks, Declared: 30}).Decide(in)
		if alone.Verdict != gate.Verdict {
			t.Fatalf("the gate changed the verdict from %q to %q", alone.Verdict, gate.Verdict)
		}
		if gate.Verdict != Regression {
			continue
		}
		if !alone.Resolved || gate.Resolved != gate.FamilyRegression {
			t.Fatalf("alone %+v, in the gate %+v", alone, gate)
		}
		seenOpen, seenFamily = seenOpen || !gate.Resolved, seenFamily || gate.Resolved
	}
	if !seenOpen || !seenFamily {
		t.Errorf("seen an open regression: %v, a resolved one: %v", seenOpen, seenFamily)
	}
	for seed := range uint64(50) { // at the last look every regression counts
		if o := NewJudge(Design{Looks: looks, Declared: 1000}).Decide(pairsOf(seed, 20, 0.02, -0.05)); o.Verdict == Regression && !o.Resolved {
			t.Fatalf("%+v", o)
		}
	}
}

func TestDecideAgreesWithCompare(t *testing.T) {
	rng := newRand(21)
	for range 500 {
		in, d := drawnInput(rng), drawnDesign(rng)
		if rng.IntN(4) == 0 {
			d.Declared = 1 + rng.IntN(40)
		}
		j := NewJudge(d)
		c, o := j.Compare(in), j.Decide(in)
		if c.Verdict != o.Verdict || c.ByMargin != o.ByMargin || c.Stars != o.Stars || c.Resolved != o.Resolved || c.Futile != o.Futile || c.FamilyRegression != o.FamilyRegression || c.Reason != o.Reason {
			t.Fatalf("%+v\n%+v", c, o)
		}
	}
}
