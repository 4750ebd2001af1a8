package stats

import (
	"math"
	"testing"
)

func TestAttemptsAreJudgedOnTheIntersectionOfTheirIntervals(t *testing.T) {
	attempt := func(number int, lo, hi float64) Attempt {
		v, beyond := VerdictOf([2]float64{lo, hi}, 0.02)
		return Attempt{Number: number, Interval: [2]float64{lo, hi}, Verdict: v, ByMargin: beyond}
	}
	none := Attempt{Number: 2, Interval: [2]float64{-0.5, 0.5}}
	for _, c := range []struct {
		name       string
		attempts   []Attempt
		want       Verdict
		lo, hi     float64
		contradict bool
		risk       float64
	}{
		{"one", []Attempt{attempt(1, -0.01, 0.03)}, NoWorse, -0.01, 0.03, false, 0.05},
		{"two that agree", []Attempt{attempt(1, -0.01, 0.03), attempt(2, -0.04, 0.01)}, Equivalent, -0.01, 0.01, false, 0.075},
		{"a star that stays", []Attempt{attempt(1, 0.001, 0.04), attempt(2, -0.02, 0.03)}, Faster, 0.001, 0.03, false, 0.075},
		{"two that contradict", []Attempt{attempt(1, 0.01, 0.03), attempt(2, -0.04, 0)}, Inconclusive, nan, nan, true, 0.075},
		{"one of two judged", []Attempt{attempt(1, -0.01, 0.03), none}, NoWorse, -0.01, 0.03, false, 0.075},
		{"six", []Attempt{attempt(1, -0.1, 0.1), attempt(2, -0.1, 0.1), attempt(3, -0.1, 0.1), attempt(4, -0.1, 0.1), attempt(5, -0.1, 0.1), attempt(6, -0.1, -0.03)}, Regression, -0.1, -0.03, false, 0.0984375},
		{"none judged", []Attempt{none}, NoVerdict, nan, nan, false, 0.075},
		{"none", nil, NoVerdict, nan, nan, false, 0},
		{"not comparable in both", []Attempt{{Number: 1, Verdict: NotComparable, Interval: [2]float64{nan, nan}}, {Number: 2, Verdict: NotComparable, Interval: [2]float64{nan, nan}}}, NotComparable, nan, nan, false, 0.075},
		{"identical in both", []Attempt{attempt(1, 0, 0), attempt(2, 0, 0)}, Equivalent, 0, 0, false, 0.075},
		{"exactly the margin worse in both", []Attempt{attempt(1, -0.02, -0.02), attempt(2, -0.02, -0.02)}, SlowerWithin, -0.02, -0.02, false, 0.075},
		{"open ends", []Attempt{attempt(1, math.Inf(-1), inf), attempt(2, 0.05, inf)}, Faster, 0.05, inf, false, 0.075},
	} {
		got := CombineAttempts(c.attempts, 0.02, 0.05)
		same := func(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }
		if got.Verdict != c.want || !same(got.Interval[0], c.lo) || !same(got.Interval[1], c.hi) || got.Contradict != c.contradict || math.Abs(got.FalseStarRisk-c.risk) > 1e-15 {
			t.Errorf("%s: %+v, want %q [%g, %g], contradict %v, risk %g", c.name, got, c.want, c.lo, c.hi, c.contradict, c.risk)
		}
	}
}

func TestARegressionOfTheFamilyMustSurviveLaterAttempts(t *testing.T) {
	first := Attempt{Number: 1, Interval: [2]float64{-0.06, -0.03}, Verdict: Regression, FamilyRegression: true}
	agrees := Attempt{Number: 2, Interval: [2]float64{-0.07, -0.01}, Verdict: Slower}
	differs := Attempt{Number: 2, Interval: [2]float64{-0.01, 0.01}, Verdict: Equivalent, Lost: true}
	if got := CombineAttempts([]Attempt{first, agrees}, 0.02, 0.05).RollUpItem(); got != (RollUpItem{Verdict: Regression, FamilyRegression: true}) {
		t.Errorf("%+v", got)
	}
	if got := CombineAttempts([]Attempt{first, differs}, 0.02, 0.05).RollUpItem(); got != (RollUpItem{Verdict: Inconclusive, Lost: true}) {
		t.Errorf("%+v", got)
	}
}

func TestAComparisonIsKeptAsAnAttempt(t *testing.T) {
	c := Compare(pairsOf(1, 20, 0.01, -0.1), Design{Declared: 3, Attempt: 2})
	a := c.Attempt(2)
	if a.Number != 2 || a.Interval != c.Interval || a.Verdict != Regression || !a.FamilyRegression || a.Lost {
		t.Errorf("%+v", a)
	}
}

// The expected figures were computed with 40 digits from the definitions of
// DerSimonian and Laird's estimate and of the interval.
func TestPooledSessions(t *testing.T) {
	got, ok := Pool([]float64{0.010, 0.022, 0.015, 0.031}, []float64{0.004, 0.005, 0.003, 0.006}, 0.05)
	if !ok || got.Sessions != 4 {
		t.Fatalf("%+v %v", got, ok)
	}
	near(t, "estimate", got.Estimate, pooledEstimate, 1e-12)
	near(t, "lower end", got.Interval[0], pooledLow, 1e-12)
	near(t, "upper end", got.Interval[1], pooledHigh, 1e-12)
	near(t, "between", got.Between, pooledBetween, 1e-12)
	for _, bad := range [][2][]float64{{{1, 2}, {1, 1}}, {{1, 2, 3}, {1, 1}}, {{1, 2, 3}, {1, 0, 1}}, {{1, nan, 3}, {1, 1, 1}}, {{1, 2, 3}, {1, inf, 1}}} {
		if _, ok := Pool(bad[0], bad[1], 0.05); ok {
			t.Errorf("%v with errors %v were pooled", bad[0], bad[1])
		}
	}
}

const (
	pooledEstimate = 0.018461497516399212
	pooledLow      = 0.0046062540960472192
	pooledHigh     = 0.032316740936751204
	pooledBetween  = 0.0064960538370216611
)
