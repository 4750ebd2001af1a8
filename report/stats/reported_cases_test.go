package stats

import (
	"math"
	"slices"
	"testing"
)

// The samples of public bug reports against comparison tools; the right
// figures come from R's t.test.

func times(n int, x float64) []float64 { return slices.Repeat([]float64{x}, n) }

func codes(c Comparison) []WarningCode {
	var out []WarningCode
	for _, w := range c.Warnings {
		out = append(out, w.Code)
	}
	return out
}

func near(t *testing.T, what string, got, want, within float64) {
	t.Helper()
	if !(math.Abs(got-want) <= within) {
		t.Errorf("%s = %.6g, want %.6g ± %g", what, got, want, within)
	}
}

func TestOneRunASideGivesAChangeWithoutStars(t *testing.T) {
	c := Compare(Input{Old: []float64{15400.5}, New: []float64{15862.5}}, Design{})
	near(t, "change", c.Change, 0.0300, 0.00005)
	if c.Stars != "" || c.Verdict != NoVerdict || c.Reason != ReasonTooFew || !slices.Contains(codes(c), WarnOneRun) {
		t.Errorf("got stars %q, verdict %q (%s), warnings %v", c.Stars, c.Verdict, c.Reason, codes(c))
	}
	if row := WelchTable([]float64{15400.5}, []float64{15862.5}); row.Tested || !math.IsNaN(row.Accuracy[0]) {
		t.Errorf("the table tests one run: %+v", row)
	}
}

func TestRatesThatAreAllZeroAreNoUsableData(t *testing.T) {
	c := Compare(Input{Old: times(3, 0), New: times(3, 0)}, Design{})
	if c.Reason != ReasonNoData || c.UnusableOld != 3 || c.UnusableNew != 3 || !slices.Equal(c.UnusableNewRuns, []int{1, 2, 3}) {
		t.Errorf("got reason %q, unusable %d and %d (%v)", c.Reason, c.UnusableOld, c.UnusableNew, c.UnusableNewRuns)
	}
	if !math.IsNaN(c.Change) || c.Verdict != NoVerdict || !slices.Contains(codes(c), WarnNoData) {
		t.Errorf("got change %g, verdict %q, warnings %v", c.Change, c.Verdict, codes(c))
	}
	if row := WelchTable(times(3, 0), times(3, 0)); row.Tested || !math.IsNaN(row.Change) {
		t.Errorf("compare.R's row for zeros: %+v", row)
	}
}

func TestThreeRunsASideHaveStarsButNoVerdict(t *testing.T) {
	c := Compare(Input{Old: []float64{200, 204, 202}, New: []float64{212, 214, 210}}, Design{})
	near(t, "change", c.Change, 0.0495, 0.00005)
	near(t, "accuracy", c.Accuracy[0], 0.0224, 0.00005)
	near(t, "p", c.P, 0.0036, 0.00005)
	near(t, "df", c.DF, 4, 1e-9)
	if c.Stars != "**" || c.Verdict != NoVerdict || c.Reason != ReasonTooFew {
		t.Errorf("got stars %q, verdict %q (%s)", c.Stars, c.Verdict, c.Reason)
	}
}

func TestAHugeGainAgainstAConstantSideIsSeen(t *testing.T) {
	c := Compare(Input{Old: []float64{115, 114, 115, 115, 115}, New: times(5, 78.8)}, Design{})
	near(t, "change", c.Change, -0.3136, 0.00005)
	near(t, "p", c.P, 5.7e-9, 0.05e-9)
	near(t, "df", c.DF, 4, 1e-9)
	near(t, "accuracy", c.Accuracy[0], 0.0048, 0.00005)
	if c.Stars != "***" || c.Verdict != Regression {
		t.Errorf("got stars %q, verdict %q", c.Stars, c.Verdict)
	}
}

func TestTwoConstantSidesThatDifferAreNotComparable(t *testing.T) {
	few := Compare(Input{Old: times(5, 100), New: times(5, 80)}, Design{})
	near(t, "change", few.Change, -0.20, 1e-12)
	if few.Verdict != NoVerdict || few.Reason != ReasonConstant || few.Stars != "" || few.Identical {
		t.Errorf("five runs: verdict %q (%s), stars %q", few.Verdict, few.Reason, few.Stars)
	}
	if c := Compare(Input{Old: times(8, 100), New: times(8, 80)}, Design{}); c.Verdict != NotComparable || c.Reason != ReasonConstant || !slices.Contains(codes(c), WarnConstant) {
		t.Errorf("eight runs: verdict %q (%s), warnings %v", c.Verdict, c.Reason, codes(c))
	}
}

func TestTwoConstantSidesThatAgreeAreIdentical(t *testing.T) {
	few := Compare(Input{Old: times(5, 100), New: times(5, 100)}, Design{})
	if few.Verdict != NoVerdict || !few.Identical || few.Change != 0 || few.Reason != ReasonTooFew {
		t.Errorf("five runs: verdict %q (%s), identical %v, change %g", few.Verdict, few.Reason, few.Identical, few.Change)
	}
	c := Compare(Input{Old: times(10, 100), New: times(10, 100)}, Design{})
	if c.Verdict != Equivalent || !c.Identical || c.Interval != [2]float64{0, 0} {
		t.Errorf("ten runs: verdict %q, identical %v, interval %v", c.Verdict, c.Identical, c.Interval)
	}
}

func TestTimesInOneUnitAreThreePercentSlower(t *testing.T) {
	c := Compare(Input{Old: []float64{0.990, 0.992, 0.988}, New: []float64{1.020, 1.022, 1.018}, Better: LowerIsBetter, Time: true}, Design{})
	near(t, "change", c.Change, 0.0303, 0.00005)
	near(t, "improvement", c.Improvement, -0.0303, 0.00005)
	near(t, "p", c.P, 5.2e-5, 0.05e-5)
	if c.Stars != "***" {
		t.Errorf("got stars %q", c.Stars)
	}
}

func TestASlowFirstRunIsAnOutlierAndNoRegression(t *testing.T) {
	c := Compare(Input{
		Old:    []float64{0.250, 0.251, 0.249, 0.252, 0.250, 0.248, 0.251, 0.250, 0.249, 0.250},
		New:    []float64{0.912, 0.251, 0.249, 0.252, 0.250, 0.248, 0.251, 0.250, 0.249, 0.250},
		Better: LowerIsBetter, Time: true,
	}, Design{})
	near(t, "improvement", c.Improvement, -0.2648, 0.00005)
	near(t, "p", c.P, 0.34, 0.005)
	near(t, "accuracy", c.Accuracy[0], 0.599, 0.0005)
	if c.Stars != "" || c.Verdict == Regression || c.Verdict == Slower {
		t.Errorf("got stars %q, verdict %q", c.Stars, c.Verdict)
	}
	named := false
	for _, w := range c.Warnings {
		named = named || w.Code == WarnOutliers && w.Side == NewSide && slices.Equal(w.Runs, []int{1})
	}
	if !named {
		t.Errorf("no warning names run 1: %+v", c.Warnings)
	}
}

func TestABenchmarkOfOneSideIsNeverInAnOverallFigure(t *testing.T) {
	for _, in := range []Input{{Old: times(9, 100)}, {Old: times(9, 100), New: times(9, math.NaN())}} {
		c := Compare(in, Design{})
		if c.Reason != ReasonOnlyOld || c.Verdict != NotComparable || !math.IsNaN(c.Change) || !c.Resolved {
			t.Errorf("%+v", c)
		}
	}
}

func TestSignsFollowTheDirectionOfImprovement(t *testing.T) {
	rate := Compare(Input{Old: []float64{120, 121, 119, 120, 122}, New: []float64{100, 101, 99, 100, 102}}, Design{})
	near(t, "improvement of the rate", rate.Improvement, -0.1661, 0.00005)
	cost := Compare(Input{Old: []float64{5, 5.1, 4.9, 5, 5.1}, New: []float64{4, 4.1, 3.9, 4, 4.1}, Better: LowerIsBetter}, Design{})
	near(t, "improvement of the cost", cost.Improvement, 0.1992, 0.00005)
	if rate.Verdict != Regression || cost.Verdict != Faster || cost.ByMargin != MoreThan {
		t.Errorf("got %q and %q (%s)", rate.Verdict, cost.Verdict, cost.ByMargin)
	}
}

func TestValuesOfOneProcessHaveStarsButNoVerdict(t *testing.T) {
	c := Compare(Input{Old: []float64{120, 121, 119, 120, 122}, New: []float64{100, 101, 99, 100, 102}, WithinProcess: true}, Design{})
	if c.Stars != "***" || c.Verdict != NoVerdict || c.Reason != ReasonWithinProcess || !slices.Contains(codes(c), WarnWithinProcess) {
		t.Errorf("got stars %q, verdict %q (%s), warnings %v", c.Stars, c.Verdict, c.Reason, codes(c))
	}
}
