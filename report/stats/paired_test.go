package stats

import (
	"math"
	"testing"
)

var (
	pairedOld = []float64{97.48, 104.15, 96.23, 100.21, 105.13, 98.19, 98.58, 98.09, 99.14, 100.41, 103.68, 97.59, 96.76, 99.53, 96.78}
	pairedNew = []float64{100.47, 101.55, 96, 102.04, 102.52, 102.76, 102.96, 103.86, 102.66, 103.26, 102.02, 103.61, 103.53, 100.04, 98.83}
)

func TestPairedFiguresAgreeWithR(t *testing.T) {
	c := Compare(Input{Old: pairedOld, New: pairedNew}, Design{Analysis: Paired})
	near(t, "t", c.T, 2.88021935494457626, 1e-12)
	near(t, "df", c.DF, 14, 0)
	near(t, "p", c.P, 0.01210596586418879, 1e-14)
	near(t, "se", c.SE, 0.7906805186291634, 1e-13)
	near(t, "half-width", c.Accuracy[0]*c.Old.Mean, (3.97317438408510659-0.58149228258155727)/2, 1e-12)
	near(t, "interval", c.Interval[0], 0.005779469781089341, 1e-14)
	near(t, "interval", c.Interval[1], 0.040417873969943230, 1e-14)
	if c.Stars != "*" || c.Verdict != Faster || c.ByMargin != MarginUnknown {
		t.Errorf("got %q %q %q", c.Stars, c.Verdict, c.ByMargin)
	}
}

func TestWelchIntervalAgreesWithARootFinderInR(t *testing.T) {
	c := Compare(Input{Old: pairedOld, New: pairedNew}, Design{})
	near(t, "t", c.T, 2.50383269885567206, 1e-12)
	near(t, "df", c.DF, 26.12808259130490285, 1e-11)
	near(t, "interval", c.Interval[0], 0.004053932416448358, 1e-9)
	near(t, "interval", c.Interval[1], 0.042214028328266595, 1e-9)
}

func TestAPairThatLostOneRunIsLeftOutOfThePairedAnalysisOnly(t *testing.T) {
	o, n := append([]float64{99}, pairedOld...), append([]float64{math.NaN()}, pairedNew...)
	in := Input{Old: o, New: n, LostNew: 1}
	whole := Compare(Input{Old: pairedOld, New: pairedNew}, Design{Analysis: Paired})
	c := Compare(in, Design{Analysis: Paired})
	if c.Old.N != 15 || c.T != whole.T || c.UnusableNew != 0 || c.LostNew != 1 {
		t.Errorf("paired: n %d, t %g, unusable %d, lost %d", c.Old.N, c.T, c.UnusableNew, c.LostNew)
	}
	if w := Compare(in, Design{}); w.Old.N != 16 || w.New.N != 15 {
		t.Errorf("Welch: n %d and %d, want 16 and 15", w.Old.N, w.New.N)
	}
}

func TestAnAdaptiveRunIsJudgedAtItsLastCompletedLook(t *testing.T) {
	design := Design{Looks: DefaultLooks()}
	for _, c := range []struct{ pairs, look, reached, unjudged int }{{7, 0, 0, 7}, {8, 1, 8, 0}, {14, 1, 8, 6}, {15, 2, 15, 0}} {
		got := Compare(Input{Old: pairedOld[:c.pairs], New: pairedNew[:c.pairs]}, design)
		if got.Look != c.look || got.LookReached != c.reached || got.Unjudged != c.unjudged {
			t.Errorf("%d pairs: look %d at %d, %d unjudged", c.pairs, got.Look, got.LookReached, got.Unjudged)
		}
		if c.look == 0 {
			if got.Verdict != NoVerdict || got.Reason != ReasonNoLook || got.Stars != "" || !math.IsNaN(got.Accuracy[0]) || got.Old.N != c.pairs {
				t.Errorf("before the first look: verdict %q (%s), stars %q, accuracy %g, n %d", got.Verdict, got.Reason, got.Stars, got.Accuracy[0], got.Old.N)
			}
			continue
		}
		if got.Old.N != c.reached {
			t.Errorf("%d pairs: judged on %d, want %d", c.pairs, got.Old.N, c.reached)
		}
		nominal := Boundary(DefaultLooks(), 0.05)[c.look-1]
		near(t, "critical value", got.Critical, criticalT(nominal, float64(c.reached-1)), 1e-12)
		near(t, "accuracy", got.Accuracy[1], criticalT(Boundary(DefaultLooks(), 0.01)[c.look-1], float64(c.reached-1))*got.RelativeSE, 1e-12)
	}
}

func TestALaterAttemptIsJudgedAtHalfTheLevelOfTheOneBefore(t *testing.T) {
	in := Input{Old: pairedOld, New: pairedNew}
	for attempt := 1; attempt <= 4; attempt++ {
		share := math.Pow(2, float64(1-attempt))
		fixed := Compare(in, Design{Attempt: attempt})
		near(t, "fixed", fixed.Critical, criticalT(0.05*share, fixed.DF), 1e-12)
		near(t, "fixed **", fixed.Accuracy[1], criticalT(0.01*share, fixed.DF)*fixed.RelativeSE, 1e-12)
		adaptive := Compare(in, Design{Attempt: attempt, Looks: []int{8, 15, 25}})
		near(t, "adaptive", adaptive.Critical, criticalT(Boundary([]int{8, 15, 25}, 0.05*share)[1], 14), 1e-12)
	}
}

func TestAStarAlwaysMeansThatTheImprovementExceedsTheAccuracy(t *testing.T) {
	rng := newRand(11)
	for range 400 {
		n := 8 + rng.IntN(30)
		in := Input{Better: HigherIsBetter}
		if rng.IntN(2) == 0 {
			in.Better = LowerIsBetter
		}
		shift := rng.NormFloat64() * 0.02
		for range n {
			in.Old = append(in.Old, 100*(1+0.02*rng.NormFloat64()))
			in.New = append(in.New, 100*(1+shift+0.02*rng.NormFloat64()))
		}
		for _, d := range []Design{{}, {Analysis: Paired}, {Looks: DefaultLooks()}, {Attempt: 3}, {Looks: DefaultLooks(), Attempt: 2, Analysis: Welch}} {
			c := Compare(in, d)
			want := ""
			for _, accuracy := range c.Accuracy {
				if math.Abs(c.Improvement) > accuracy {
					want += "*"
				}
			}
			if c.Stars != want {
				t.Fatalf("stars %q, but improvement %g and accuracies %v", c.Stars, c.Improvement, c.Accuracy)
			}
		}
	}
}
