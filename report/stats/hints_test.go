package stats

import (
	"math"
	"slices"
	"testing"
)

func normalSamples(seed uint64, n int, mean, sd float64) []float64 {
	rng := newRand(seed)
	xs := make([]float64, n)
	for i := range xs {
		xs[i] = mean + sd*rng.NormFloat64()
	}
	return xs
}

func warning(c Comparison, code WarningCode) (Warning, bool) {
	i := slices.IndexFunc(c.Warnings, func(w Warning) bool { return w.Code == code })
	if i < 0 {
		return Warning{}, false
	}
	return c.Warnings[i], true
}

func TestHintsAreGivenWhereTheyShould(t *testing.T) {
	calm := normalSamples(1, 30, 100, 1)
	change := func(xs []float64, f func(i int, x float64) float64) []float64 {
		out := slices.Clone(xs)
		for i, x := range out {
			out[i] = f(i, x)
		}
		return out
	}
	for _, c := range []struct {
		name     string
		code     WarningCode
		old, new []float64
		check    func(w Warning) bool
	}{
		{"an outlier on the new side", WarnOutliers, calm, change(normalSamples(2, 30, 100, 1), func(i int, x float64) float64 {
			if i == 6 {
				return 130
			}
			return x
		}), func(w Warning) bool { return w.Side == NewSide && slices.Equal(w.Runs, []int{7}) }},
		{"two modes", WarnBimodal, calm, change(normalSamples(3, 30, 0, 0.5), func(i int, x float64) float64 { return 100 + x + 10*float64(i%3/2) }),
			func(w Warning) bool {
				return w.Side == NewSide && math.Abs(w.Modes[0]-100) < 0.5 && math.Abs(w.Modes[1]-110) < 0.5 && math.Abs(w.MinorWeight-1./3) < 0.01 && w.Value > 10
			}},
		{"a trend over the run", WarnDrift, change(calm, func(i int, x float64) float64 { return x + 0.2*float64(i) }), change(normalSamples(4, 30, 100, 1), func(i int, x float64) float64 { return x + 0.2*float64(i) }),
			func(w Warning) bool { return w.Value < 0.01 }},
		{"waves", WarnAutocorrelation, change(calm, func(i int, x float64) float64 { return x + 3*math.Sin(float64(i)/3) }), change(normalSamples(5, 30, 100, 1), func(i int, x float64) float64 { return x + 3*math.Sin(float64(i)/3) }),
			func(w Warning) bool { return w.Value > w.Limit && math.Abs(w.Limit-2/math.Sqrt(30)) < 1e-12 }},
		{"one side much wider", WarnUnequalSpread, calm, normalSamples(6, 30, 100, 4), func(w Warning) bool { return w.Side == NewSide && w.Value > 2 }},
	} {
		got := Compare(Input{Old: c.old, New: c.new}, Design{})
		if w, ok := warning(got, c.code); !ok || !c.check(w) {
			t.Errorf("%s: %+v of %+v", c.name, w, got.Warnings)
		}
	}
}

func TestASlowFirstPairIsNamedInItsOwnRight(t *testing.T) {
	// Each side alone hides it in its own drift; the pair does not.
	var in Input
	in.Better = LowerIsBetter
	for i := range 21 {
		swing := float64(i%5) - 2
		in.Old = append(in.Old, 100+3*swing+0.05*float64(i%3))
		in.New = append(in.New, 100-3*swing)
	}
	in.Old[0], in.New[0] = 106, 106
	c := Compare(in, Design{})
	if w, ok := warning(c, WarnOutliers); !ok || !w.SlowFirst || !w.Pairs || !slices.Equal(w.Runs, []int{1}) {
		t.Errorf("%+v", c.Warnings)
	}
	in.Better = HigherIsBetter // then it was a fast one
	if w, ok := warning(Compare(in, Design{}), WarnOutliers); ok {
		t.Errorf("a fast first pair is called slow: %+v", w)
	}
}

func TestHintsAreRareOnOrdinarySamples(t *testing.T) {
	const reps = 1000
	count := map[WarningCode]int{}
	rng := newRand(9)
	judge := NewJudge(Design{})
	for range reps {
		var in Input
		for range 30 {
			in.Old = append(in.Old, 100+rng.NormFloat64())
			in.New = append(in.New, 100+rng.NormFloat64())
		}
		for _, w := range judge.Compare(in).Warnings {
			count[w.Code]++
		}
	}
	for code, limit := range map[WarningCode]float64{WarnOutliers: 0.001, WarnBimodal: 0.01, WarnDrift: 0.015, WarnAutocorrelation: 0.03, WarnUnequalSpread: 0.001, WarnLowResolution: 0, WarnVariance: 0} {
		if share := float64(count[code]) / reps; share > limit {
			t.Errorf("%s on %.2f %% of ordinary runs, want at most %.2f %%", code, 100*share, 100*limit)
		}
	}
}

func TestKendallAgreesWithR(t *testing.T) {
	near(t, "p", kendallTrend([]float64{3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9}), 0.006863794985449033, 1e-15)
	near(t, "p of a constant", kendallTrend(times(9, 4)), 1, 0)
}

func TestHintsThatDivideByTheDeviationAreSkippedWithoutOne(t *testing.T) {
	// Most values equal: the median absolute deviation is 0.
	xs := append(times(20, 100), 99, 101, 150)
	if w, ok := warning(Compare(Input{Old: xs, New: xs}, Design{}), WarnOutliers); ok {
		t.Errorf("%+v", w)
	}
}

func TestTheVarianceWarning(t *testing.T) {
	for _, c := range []struct {
		n     int
		limit float64
	}{{10, 0.011}, {30, 0.019}, {100, 0.035}, {200, 0.05}, {500, 0.079}} {
		got := Compare(Input{Old: normalSamples(1, c.n, 100, 1), New: normalSamples(2, c.n, 100, 1)}, Design{Margin: 0.01})
		near(t, "even odds", got.EvenOddsCV, c.limit, 0.0005)
		near(t, "limit", got.VarianceLimit, 0.01*math.Sqrt(float64(c.n)/2)/(got.Critical+1.28), 1e-12)
	}

	noisy := Input{Old: normalSamples(1, 30, 100, 8), New: normalSamples(2, 30, 100, 8)}
	c := Compare(noisy, Design{})
	w, ok := warning(c, WarnVariance)
	want := int(math.Ceil(2 * c.CV * c.CV * math.Pow((1.96+1.28)/0.02, 2)))
	if !ok || c.Verdict != Inconclusive || w.RunsNeeded != want || c.RunsNeeded != want || w.Value != c.CV || w.Limit != c.VarianceLimit || w.EvenOdds != c.EvenOddsCV {
		t.Errorf("%+v of %q, want %d runs", w, c.Verdict, want)
	}
	near(t, "cv", c.CV, c.SE/c.Old.Mean*math.Sqrt(15), 1e-12)
	for i, power := range []float64{0, 0.84, 1.28} {
		near(t, "detectable", c.Detectable[i], (c.Critical+power)*c.SE/c.Old.Mean, 1e-12)
	}
	near(t, "detectable at even odds", c.Detectable[0], c.Accuracy[0], 1e-15)

	// 2·0.8²·(3.24/0.02)² is far above 10,000.
	wild := Compare(Input{Old: normalSamples(1, 30, 100, 60), New: normalSamples(3, 30, 100, 60), Better: LowerIsBetter}, Design{})
	if w, ok := warning(wild, WarnVariance); !ok || w.RunsNeeded != 0 || w.RunsFactor != 0 {
		t.Errorf("%+v of %q at cv %g", w, wild.Verdict, wild.CV)
	}
}

func TestASlowerRowAsksForTheRunsThatTellItFromTheMargin(t *testing.T) {
	c := Compare(Input{Old: normalSamples(1, 30, 100, 2), New: normalSamples(2, 30, 98.6, 2)}, Design{})
	if c.Verdict != Slower {
		t.Fatalf("verdict %q with interval %v", c.Verdict, c.Interval)
	}
	want := int(math.Ceil(2 * c.CV * c.CV * math.Pow((1.96+0.84)/(c.Improvement+0.02), 2)))
	if c.RunsNeeded != max(31, want) {
		t.Errorf("%d runs needed, want %d", c.RunsNeeded, want)
	}
	if _, ok := warning(c, WarnVariance); ok != (c.CV >= c.VarianceLimit) {
		t.Errorf("warned %v at cv %g, limit %g", ok, c.CV, c.VarianceLimit)
	}
}

func TestAdviceIsOnTheVerdictOfAllAttempts(t *testing.T) {
	noisy := Input{Old: normalSamples(1, 30, 100, 8), New: normalSamples(2, 30, 100, 8)}
	own := Compare(noisy, Design{Attempt: 2})
	for _, c := range []struct {
		lo, hi float64
		want   Verdict
		runs   float64
	}{
		{-0.01, 0.01, Equivalent, 0},
		{-0.1, -0.03, Regression, 0},
		{-0.1, 0.1, Inconclusive, 2 * own.CV * own.CV * math.Pow((1.96+1.28)/0.02, 2)},
		// The change counts as the nearest that all attempts leave possible.
		{-0.04, -0.005, Slower, 2 * own.CV * own.CV * math.Pow((1.96+0.84)/(math.Min(own.Improvement, -0.005)+0.02), 2)},
	} {
		got := own
		all := Combined{Verdict: c.want, Interval: [2]float64{c.lo, c.hi}, Judged: 2}
		got.AdviseOn(all, Design{Attempt: 2})
		if _, ok := warning(got, WarnVariance); ok != (c.runs > 0) || got.RunsNeeded != int(math.Ceil(c.runs)) {
			t.Errorf("%s together: warned %v, %d runs needed, want %g", c.want, ok, got.RunsNeeded, c.runs)
		}
	}
	if _, ok := warning(own, WarnVariance); !ok {
		t.Error("advice on a copy took the warning away")
	}
}

func TestAdviceNeverNamesFewerRunsThanAVerdictNeeds(t *testing.T) {
	c := Compare(Input{Old: []float64{100, 101}, New: []float64{100.2, 100.8}}, Design{Margin: 0.02})
	if w, ok := warning(c, WarnVariance); !ok || w.RunsNeeded != MinRuns || c.RunsNeeded != MinRuns {
		t.Errorf("%+v, want %d runs", w, MinRuns)
	}
	c = Compare(Input{Old: normalSamples(1, 30, 100, 8), New: normalSamples(2, 30, 100, 8), WithinProcess: true}, Design{})
	if _, ok := warning(c, WarnVariance); ok || c.RunsNeeded != 0 {
		t.Errorf("values of one process are told %d runs", c.RunsNeeded)
	}
}

func TestRunsNeededAreMoreThanThereAre(t *testing.T) {
	rng := newRand(12)
	for range 300 {
		in := drawnInput(rng)
		c := Compare(in, Design{})
		if c.RunsNeeded != 0 && float64(c.RunsNeeded) <= c.PerSide {
			t.Fatalf("%d runs are said to be needed where there are %g", c.RunsNeeded, c.PerSide)
		}
	}
}

func TestAStarThatJustPassedInASmallRunIsCalledUnderpowered(t *testing.T) {
	c := Compare(Input{Old: []float64{100, 103, 97, 105, 96}, New: []float64{108, 104, 110, 103, 106}}, Design{})
	if w, ok := warning(c, WarnUnderpowered); !ok || c.Stars == "" || w.Value > 1.5 || w.Value < 1 {
		t.Errorf("stars %q, warnings %+v", c.Stars, c.Warnings)
	}
	rng := newRand(2)
	var in Input
	for range 8 {
		x := 100 + 3*rng.NormFloat64()
		in.Old, in.New = append(in.Old, x), append(in.New, x+6+2*rng.NormFloat64())
	}
	if _, ok := warning(Compare(in, Design{Looks: []int{8}}), WarnUnderpowered); ok {
		t.Error("the warning is for fixed runs only")
	}
}
