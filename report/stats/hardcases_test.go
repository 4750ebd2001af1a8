package stats

import (
	"math"
	"slices"
	"testing"
)

var nan, inf = math.NaN(), math.Inf(1)

func TestHardCases(t *testing.T) {
	zigzag := func(n int, low, high float64) []float64 {
		xs := make([]float64, n)
		for i := range xs {
			xs[i] = []float64{low, high}[i%2]
		}
		return xs
	}
	for _, c := range []struct {
		name    string
		in      Input
		verdict Verdict
		reason  Reason
		check   func(c Comparison) bool
	}{
		{"identical counts", Input{Old: times(8, 3), New: times(8, 3), Better: LowerIsBetter, Count: true}, Equivalent, "",
			func(c Comparison) bool { return c.Identical && !c.Exact && c.Resolved }},
		{"identical zero allocations", Input{Old: times(8, 0), New: times(8, 0), Better: LowerIsBetter, Count: true}, Equivalent, "",
			func(c Comparison) bool { return c.Identical && math.IsNaN(c.Change) }},
		{"identical up to rounding", Input{Old: times(9, 0.1+0.2), New: times(9, 0.3)}, Equivalent, "",
			func(c Comparison) bool { return c.Identical }},
		{"identical times of a fine clock", Input{Old: times(8, 1), New: times(8, 1), Better: LowerIsBetter, Time: true, Resolution: 0.01}, Equivalent, "",
			func(c Comparison) bool { return c.Identical }},
		{"identical times of a coarse clock", Input{Old: times(8, 1), New: times(8, 1), Better: LowerIsBetter, Time: true, Resolution: 0.02}, NotComparable, ReasonConstant,
			func(c Comparison) bool {
				return !c.Identical && slices.Contains(codes(c), WarnLowResolution) && c.Resolved
			}},
		{"a count that grew a little", Input{Old: times(8, 100), New: times(8, 101), Better: LowerIsBetter, Count: true}, SlowerWithin, "",
			func(c Comparison) bool { return c.Exact && c.Interval == [2]float64{-0.01, -0.01} }},
		{"a count that grew by just the margin", Input{Old: times(8, 100), New: times(8, 102), Better: LowerIsBetter, Count: true}, SlowerWithin, "",
			func(c Comparison) bool { return c.Exact }},
		{"a count that grew", Input{Old: times(8, 100), New: times(8, 103), Better: LowerIsBetter, Count: true}, Regression, "",
			func(c Comparison) bool { return c.Exact && c.Resolved }},
		{"a count that fell", Input{Old: times(8, 100), New: times(8, 97), Better: LowerIsBetter, Count: true}, Faster, "",
			func(c Comparison) bool { return c.Exact && c.ByMargin == MoreThan && c.Stars == "" }},
		{"a count that fell a little", Input{Old: times(8, 100), New: times(8, 99), Better: LowerIsBetter, Count: true}, Faster, "",
			func(c Comparison) bool { return c.ByMargin == LessThan }},
		{"a count that fell to zero", Input{Old: times(8, 2), New: times(8, 0), Better: LowerIsBetter, Count: true}, Faster, "",
			func(c Comparison) bool { return c.Change == -1 && c.Improvement == 1 && !c.NoPercentage }},
		{"a count that came up from zero", Input{Old: times(8, 0), New: times(8, 2), Better: LowerIsBetter, Count: true}, NotComparable, ReasonOldMean,
			func(c Comparison) bool {
				return c.Difference == 2 && c.NoPercentage && math.IsNaN(c.Change) && c.Resolved
			}},
		{"a count that grew, in seven runs", Input{Old: times(7, 100), New: times(7, 103), Better: LowerIsBetter, Count: true}, NoVerdict, ReasonTooFew,
			func(c Comparison) bool { return c.Exact && !c.Resolved && math.IsNaN(c.Interval[0]) }},
		{"constant values that differ", Input{Old: times(8, 100), New: times(8, 99)}, NotComparable, ReasonConstant,
			func(c Comparison) bool { return c.Change == -0.01 && c.Stars == "" && math.IsNaN(c.P) && c.Resolved }},
		{"an old mean below zero", Input{Old: []float64{-3, -4, -5, -4, -4}, New: []float64{1, 2, 1, 2, 1}, Better: LowerIsBetter}, NotComparable, ReasonOldMean,
			func(c Comparison) bool { return c.NoPercentage && c.Stars == "" && c.Difference == 5.4 }},
		{"an old mean below zero, in four runs", Input{Old: []float64{-3, -4, -5, -4}, New: []float64{1, 2, 1, 2}, Better: LowerIsBetter}, NoVerdict, ReasonOldMean, nil},
		{"an old mean that may be zero", Input{Old: []float64{0, 0, 0, 9, 0, 1}, New: []float64{50, 51, 52, 51, 50, 52}, Better: LowerIsBetter}, Regression, "",
			func(c Comparison) bool {
				return c.NoPercentage && math.IsInf(c.Interval[0], -1) && c.Interval[1] < -0.02
			}},
		{"unusable samples among good ones", Input{Old: []float64{nan, 100, 101, 99, 100, 102, 0, inf}, New: []float64{100, 101, 99, -7, 100, 102, 98, 100}}, Equivalent, "",
			func(c Comparison) bool {
				return c.UnusableOld == 3 && slices.Equal(c.UnusableOldRuns, []int{1, 7, 8}) && c.UnusableNew == 1 && c.Old.N == 5 && slices.Contains(codes(c), WarnNoData) && !slices.Contains(codes(c), WarnIncomplete)
			}},
		{"only on the old side", Input{Old: times(3, 1)}, NoVerdict, ReasonOnlyOld,
			func(c Comparison) bool { return slices.Contains(codes(c), WarnMissingSide) && c.Resolved }},
		{"only on the new side", Input{New: zigzag(9, 1, 2)}, NotComparable, ReasonOnlyNew, nil},
		{"on neither side", Input{}, NoVerdict, ReasonNoData, nil},
		{"values of few ticks", Input{Old: zigzag(20, 100, 101), New: zigzag(20, 101, 102), Resolution: 1}, NoWorse, "",
			func(c Comparison) bool {
				return c.LowResolution && c.Stars == "" && c.Tick == 1 && math.Abs(c.T) > 5 && slices.Contains(codes(c), WarnLowResolution)
			}},
		{"few ticks, far apart", Input{Old: zigzag(20, 100, 101), New: zigzag(20, 120, 121), Resolution: 1}, Faster, "",
			func(c Comparison) bool { return c.LowResolution && c.Stars == "***" && c.ByMargin == MoreThan }},
	} {
		got := Compare(c.in, Design{})
		if got.Verdict != c.verdict || got.Reason != c.reason || c.check != nil && !c.check(got) {
			t.Errorf("%s: verdict %q (%s), want %q (%s): %+v", c.name, got.Verdict, got.Reason, c.verdict, c.reason, got)
		}
	}
}

func TestPairsWithTheSameDifferenceHaveNoSpread(t *testing.T) {
	old := []float64{10, 20, 30, 40, 50, 60, 70, 80}
	more := scaled(old, 1)
	for i := range old {
		more = slices.Clone(more)
		more[i] = old[i] + 1
	}
	same := Compare(Input{Old: old, New: old}, Design{Analysis: Paired})
	if same.Verdict != Equivalent || !same.Identical {
		t.Errorf("equal pairs: %q, identical %v", same.Verdict, same.Identical)
	}
	apart := Compare(Input{Old: old, New: more}, Design{Analysis: Paired})
	if apart.Verdict != NotComparable || apart.Reason != ReasonConstant {
		t.Errorf("pairs one apart: %q (%s)", apart.Verdict, apart.Reason)
	}
	if count := Compare(Input{Old: old, New: more, Count: true, Better: LowerIsBetter}, Design{Analysis: Paired}); count.Verdict != Regression || !count.Exact {
		t.Errorf("counts one apart: %q, exact %v", count.Verdict, count.Exact)
	}
}

func TestATickIsAllowedForInTheVerdictAndNotInTheAccuracy(t *testing.T) {
	in := Input{Old: []float64{100, 100, 100, 101, 100, 100, 100, 100}, New: []float64{101, 102, 101, 101, 101, 101, 102, 101}, Resolution: 1}
	c, row := Compare(in, Design{}), WelchTable(in.Old, in.New)
	if !c.LowResolution || c.Accuracy != row.Accuracy || c.T != row.T || c.P != row.P {
		t.Errorf("the table's figures changed: %+v against %+v", c, row)
	}
	// |difference| = 1.125, of which one tick is allowed for.
	g := 0.125 / c.SE
	if want := tailT(g, c.DF) < 0.05; (c.Stars != "") != want {
		t.Errorf("stars %q for a G of %g", c.Stars, g)
	}
	lo, hi := (c.Interval[0]+1)*c.Old.Mean, (c.Interval[1]+1)*c.Old.Mean
	plain := Compare(Input{Old: []float64{100, 100.001, 100, 101, 100, 100, 100, 100}, New: in.New}, Design{})
	if plain.LowResolution || hi-lo < (plain.Interval[1]-plain.Interval[0])*c.Old.Mean+1.99 {
		t.Errorf("the interval [%g, %g] is not wider by two ticks than %v", lo, hi, plain.Interval)
	}
}

func TestSamplesOfTheTableAreAllTaken(t *testing.T) {
	for _, c := range []struct {
		old, new []float64
		change   float64
		tested   bool
	}{
		{[]float64{0}, []float64{1}, inf, false},
		{[]float64{0}, []float64{0}, nan, false},
		{[]float64{1, nan, 2}, []float64{1, 2, 3}, nan, false},
		{[]float64{1, 2, 3}, []float64{1, inf}, inf, false},
		{[]float64{-10, -11, -9.5}, []float64{-8, -8.5, -9}, -0.16393442622950820, true},
		{[]float64{5, 5, 5}, []float64{6, 6, 6}, 0.2, false},
		{nil, []float64{1, 2}, nan, false},
		{[]float64{1e308, 1.1e308, 1.2e308}, []float64{1.3e308, 1.2e308, 1.4e308}, 0.2 / 1.1, true},
	} {
		row := WelchTable(c.old, c.new)
		if same := row.Change == c.change || math.IsNaN(row.Change) && math.IsNaN(c.change) || relativeError(row.Change, c.change) < 1e-12; !same || row.Tested != c.tested {
			t.Errorf("%v → %v: change %g, tested %v; want %g, %v", c.old, c.new, row.Change, row.Tested, c.change, c.tested)
		}
	}
}

func TestPrintedRowsGiveTheVerdictOfTheirFigures(t *testing.T) {
	for _, c := range []struct {
		name    string
		row     PrintedRow
		verdict Verdict
		stars   string
		reason  Reason
	}{
		{"accuracy", PrintedRow{Improvement: 0.1745, Accuracy: [3]float64{0.0192, 0.0253, 0.0325}, P: nan}, Faster, "***", ""},
		{"accuracy, close", PrintedRow{Improvement: -0.0013, Accuracy: [3]float64{0.0077, 0.0102, 0.0133}, P: nan}, Equivalent, "", ""},
		{"p with runs", PrintedRow{Improvement: 0.1562, Accuracy: [3]float64{nan, nan, nan}, P: 1.440552e-08, Runs: 30}, Faster, "***", ""},
		{"p without runs", PrintedRow{Improvement: -0.0033, Accuracy: [3]float64{nan, nan, nan}, P: 0.4171216}, Equivalent, "", ""},
		{"three runs", PrintedRow{Improvement: 0.05, Accuracy: [3]float64{0.02, nan, nan}, P: nan, Runs: 3}, NoVerdict, "**", ReasonTooFew},
		{"rounded away", PrintedRow{Improvement: 0, Accuracy: [3]float64{nan, nan, nan}, P: 0.99}, NotComparable, "", ReasonRounded},
	} {
		got := ComparePrinted(c.row, Design{})
		if got.Verdict != c.verdict || got.Stars != c.stars || got.Reason != c.reason {
			t.Errorf("%s: %q %q (%s), want %q %q (%s)", c.name, got.Verdict, got.Stars, got.Reason, c.verdict, c.stars, c.reason)
		}
		if !math.IsNaN(c.row.Accuracy[0]) {
			near(t, c.name+": accuracy", got.Accuracy[0], c.row.Accuracy[0], 1e-15)
			near(t, c.name+": interval", got.Interval[1]-got.Interval[0], 2*c.row.Accuracy[0], 1e-12)
		} else if c.reason == "" {
			near(t, c.name+": p", got.P, c.row.P, 1e-9*c.row.P)
		}
	}
}

func TestAPrintedRowAgreesWithItsSamples(t *testing.T) {
	full := Compare(Input{Old: pairedOld, New: pairedNew}, Design{})
	row := PrintedRow{Improvement: full.Improvement, Accuracy: full.Accuracy, P: nan, Runs: 15}
	got := ComparePrinted(row, Design{})
	if got.Verdict != full.Verdict || got.Stars != full.Stars {
		t.Errorf("%q %q from the row, %q %q from the samples", got.Verdict, got.Stars, full.Verdict, full.Stars)
	}
	near(t, "p", got.P, full.P, 0.002)
	near(t, "cv", got.CV, full.CV, 0.01*full.CV)
}

func TestALostRunIsNotCalledUnusable(t *testing.T) {
	in := Input{Old: normalSamples(1, 8, 100, 1), New: normalSamples(2, 8, 100, 1), LostNew: 2}
	in.New[1], in.New[4], in.New[6] = nan, inf, nan
	c := Compare(in, Design{})
	if c.UnusableNew != 1 || !slices.Equal(c.UnusableNewRuns, []int{5}) || c.LostNew != 2 || c.New.N != 5 {
		t.Errorf("%d unusable: %v, %d lost", c.UnusableNew, c.UnusableNewRuns, c.LostNew)
	}
	if lost, ok := warning(c, WarnIncomplete); !ok || lost.Side != NewSide || lost.Runs != nil {
		t.Errorf("%+v", lost)
	}
	if unusable, ok := warning(c, WarnNoData); !ok || unusable.Side != NewSide || !slices.Equal(unusable.Runs, []int{5}) {
		t.Errorf("%+v", unusable)
	}
}
