package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15)) }

// drawnInput is a random comparison with positive samples: any size, spread,
// correlation, direction, unequal lengths and spreads.
func drawnInput(rng *rand.Rand) Input {
	nOld, nNew := 5+rng.IntN(40), 5+rng.IntN(40)
	cv := math.Exp(rng.Float64()*math.Log(3000)) * 0.0003 // to 90 %
	ratio := math.Exp(rng.NormFloat64() * 0.7)
	shift := rng.NormFloat64() * 0.03
	if rng.IntN(4) == 0 {
		shift = rng.NormFloat64()
	}
	shared := rng.Float64()
	in := Input{Better: HigherIsBetter, Time: rng.IntN(2) == 0}
	if rng.IntN(2) == 0 {
		in.Better = LowerIsBetter
	}
	common := make([]float64, max(nOld, nNew))
	for i := range common {
		common[i] = rng.NormFloat64()
	}
	draw := func(i int, center, cv float64) float64 {
		return center * math.Exp(cv*(math.Sqrt(shared)*common[i]+math.Sqrt(1-shared)*rng.NormFloat64()))
	}
	for i := range nOld {
		in.Old = append(in.Old, draw(i, 50, cv))
	}
	for i := range nNew {
		in.New = append(in.New, draw(i, 50*math.Exp(shift), cv*ratio))
	}
	return in
}

func drawnDesign(rng *rand.Rand) Design {
	d := Design{Margin: []float64{0.001, 0.01, 0.02, 0.1, 0.5}[rng.IntN(5)], Attempt: 1 + rng.IntN(3)}
	if rng.IntN(2) == 0 {
		d.Analysis = Paired
	}
	if rng.IntN(3) == 0 {
		d.Looks = []int{5, 8, 15, 25}
	}
	return d
}

func TestExactlyOneVerdictComesOutAndAgreesWithTheInterval(t *testing.T) {
	rng := newRand(1)
	seen := map[Verdict]int{}
	var pieces int
	for range 6000 {
		in, d := drawnInput(rng), drawnDesign(rng)
		if rng.IntN(10) == 0 {
			in.Resolution = 0.5
			for i := range in.Old {
				in.Old[i] = math.Max(0.5, math.Round(in.Old[i]*2)/2)
			}
			for i := range in.New {
				in.New[i] = math.Max(0.5, math.Round(in.New[i]*2)/2)
			}
		}
		c := Compare(in, d)
		if c.Verdict == NoVerdict && c.SE == 0 && min(c.Old.N, c.New.N) < MinConstantRuns {
			continue // no spread, and fewer than eight runs
		}
		if !slices.Contains(Verdicts(), c.Verdict) {
			t.Fatalf("verdict %q (%s) from %+v under %+v", c.Verdict, c.Reason, in, d)
		}
		seen[c.Verdict]++
		if c.Verdict == NotComparable || c.Exact || c.Identical {
			continue
		}
		lo, hi := c.Interval[0], c.Interval[1]
		if !(lo <= c.Improvement && c.Improvement <= hi) {
			t.Fatalf("improvement %g outside its interval %v", c.Improvement, c.Interval)
		}
		v, beyond := VerdictOf(c.Interval, d.Margin)
		if v != c.Verdict || beyond != c.ByMargin {
			if math.IsInf(lo, 0) || math.IsInf(hi, 0) {
				// A set of two pieces is reported by the interval around both,
				// which claims less; never more.
				if v == Inconclusive {
					pieces++
					continue
				}
			}
			t.Fatalf("verdict %q %q, but the interval %v says %q %q (margin %g, G at −m, 0, m: see %+v under %+v)", c.Verdict, c.ByMargin, c.Interval, v, beyond, d.Margin, in, d)
		}
	}
	for _, v := range Verdicts() {
		if v != NotComparable && seen[v] < 10 {
			t.Errorf("%q came out %d times: the property was hardly tested", v, seen[v])
		}
	}
	t.Logf("verdicts %v, sets in pieces %d", seen, pieces)
}

func TestTheVerdictTable(t *testing.T) {
	// Intervals against a margin of 2 %.
	for _, c := range []struct {
		lo, hi float64
		want   Verdict
		beyond Beyond
	}{
		{0.03, 0.05, Faster, MoreThan},
		{0.01, 0.05, Faster, MarginUnknown},
		{0.005, 0.015, Faster, LessThan},
		{-0.05, -0.03, Regression, ""},
		{-0.015, -0.005, SlowerWithin, ""},
		{-0.03, -0.005, Slower, ""},
		{-0.01, 0.01, Equivalent, ""},
		{-0.01, 0.03, NoWorse, ""},
		{-0.03, 0.01, Inconclusive, ""},
		{-0.03, 0.03, Inconclusive, ""},
		{math.Inf(-1), math.Inf(1), Inconclusive, ""},
		{0.5, math.Inf(1), Faster, MoreThan},
		{math.NaN(), 0.1, NoVerdict, ""},
		{0.2, 0.1, NoVerdict, ""},
	} {
		if v, beyond := VerdictOf([2]float64{c.lo, c.hi}, 0.02); v != c.want || beyond != c.beyond {
			t.Errorf("[%g, %g]: %q %q, want %q %q", c.lo, c.hi, v, beyond, c.want, c.beyond)
		}
	}
}

func TestVerdictsOfDrawnSamplesReadAsTheyShould(t *testing.T) {
	spread := []float64{-1, -0.5, 0, 0.5, 1, -0.75, 0.75, 0.25, -0.25, 0.1, -0.1, 0.6}
	at := func(center, width float64) (xs []float64) {
		for _, s := range spread {
			xs = append(xs, center+width*s)
		}
		return xs
	}
	for _, c := range []struct {
		name          string
		center, width float64
		want          Verdict
		beyond        Beyond
	}{
		{"far better", 110, 1, Faster, MoreThan},
		{"a little better", 101, 0.3, Faster, LessThan},
		{"better by about the margin", 102, 1, Faster, MarginUnknown},
		{"far worse", 90, 1, Regression, ""},
		{"a little worse", 99, 0.3, SlowerWithin, ""},
		{"worse by about the margin", 98, 1, Slower, ""},
		{"the same", 100, 1, Equivalent, ""},
		{"maybe better", 101, 2.5, NoWorse, ""},
		{"too noisy", 100, 10, Inconclusive, ""},
	} {
		got := Compare(Input{Old: at(100, c.width), New: at(c.center, c.width)}, Design{})
		if got.Verdict != c.want || got.ByMargin != c.beyond {
			t.Errorf("%s: %q %q with interval %v, want %q %q", c.name, got.Verdict, got.ByMargin, got.Interval, c.want, c.beyond)
		}
	}
}

// Mirroring values in 0 is no measurement, but it is what orientation means:
// G of a cost is −G of the same numbers taken as a gain.
func TestTheContrastIsOriented(t *testing.T) {
	rng := newRand(3)
	for range 200 {
		in := drawnInput(rng)
		n := min(len(in.Old), len(in.New))
		for _, pair := range [][2]contrast{
			{welchContrast(in.Old, in.New, +1), welchContrast(in.Old, in.New, -1)},
			{pairedContrast(in.Old[:n], in.New[:n], +1), pairedContrast(in.Old[:n], in.New[:n], -1)},
		} {
			up, down := pair[0], pair[1]
			for _, delta := range []float64{-0.3, -0.02, 0, 0.01, 0.4} {
				if g, mirrored := up.g(delta), -down.g(-delta); g != mirrored {
					t.Fatalf("G(%g) = %g for gains, −G(%g) = %g for costs", delta, g, -delta, mirrored)
				}
			}
			a, b := up.interval(0.05), down.interval(0.05)
			if a[0] != -b[1] || a[1] != -b[0] {
				t.Fatalf("interval %v for gains and %v for costs", a, b)
			}
			if g0, sigmaT := down.g(0), -down.difference/math.Sqrt(down.v0); g0 != sigmaT {
				t.Fatalf("G(0) = %g, want σ·t = %g", g0, sigmaT)
			}
		}
	}
}

func TestScaleAndUnitDoNotMatter(t *testing.T) {
	rng := newRand(4)
	for range 100 {
		in, d := drawnInput(rng), drawnDesign(rng)
		want := Compare(in, d)
		for _, factor := range []float64{0x1p-1000, 0x1p-40, 0x1p30, 0x1p1000} {
			big := in
			big.Old, big.New = scaled(in.Old, 1/factor), scaled(in.New, 1/factor)
			got := Compare(big, d)
			if got.Verdict != want.Verdict || got.T != want.T || got.Interval != want.Interval || got.P != want.P || got.Accuracy != want.Accuracy || got.Stars != want.Stars {
				t.Fatalf("times %g: %+v, want %+v", factor, got, want)
			}
			if got.Old.Mean != want.Old.Mean*factor || got.SE != want.SE*factor || len(got.Warnings) != len(want.Warnings) {
				t.Fatalf("times %g: mean %g, SE %g, %d warnings; want %g, %g, %d", factor, got.Old.Mean, got.SE, len(got.Warnings), want.Old.Mean*factor, want.SE*factor, len(want.Warnings))
			}
		}
		milli := in
		milli.Old, milli.New = scaled(in.Old, 1000), scaled(in.New, 1000)
		if got := Compare(milli, d); got.Verdict != want.Verdict || relativeError(got.P, want.P) > 1e-9 && want.P > 1e-300 {
			t.Fatalf("in thousandths: %q with p %g, want %q with %g", got.Verdict, got.P, want.Verdict, want.P)
		}
	}
}

func FuzzCompareNeverPanicsAndNeverPrintsNonsense(f *testing.F) {
	f.Add(1.0, 2.0, 3.0, 4.0, 5.0, 0.02, int8(1), uint8(0))
	f.Add(0.0, math.NaN(), math.Inf(1), -1.0, 1e308, 0.5, int8(-1), uint8(7))
	f.Add(5e-324, 1e-320, 0.0, 1.0, 1.0, 0.001, int8(-1), uint8(3))
	f.Fuzz(func(t *testing.T, a, b, c, d, e, margin float64, better int8, flags uint8) {
		if !(margin > 0 && margin <= 0.5) {
			margin = 0.02
		}
		in := Input{
			Old: []float64{a, b, c, d, e, a, b, c}, New: []float64{b, c, e, a, d, d, e, a},
			Better: Better(better), Count: flags&1 != 0, Time: flags&2 != 0,
		}
		design := Design{Margin: margin, Declared: int(flags >> 5)}
		if flags&4 != 0 {
			design.Looks = DefaultLooks()
		}
		if flags&8 != 0 {
			design.Analysis = Paired
		}
		got := Compare(in, design)
		if got.Verdict != NoVerdict && !slices.Contains(Verdicts(), got.Verdict) {
			t.Errorf("verdict %q", got.Verdict)
		}
		for name, x := range map[string]float64{
			"change": got.Change, "improvement": got.Improvement, "cv": got.CV, "relative SE": got.RelativeSE, "accuracy": got.Accuracy[2],
			"detectable": got.Detectable[2], "old cv": got.Old.CV, "critical": got.Critical, "p": got.P,
		} {
			if math.IsInf(x, 0) {
				t.Errorf("%s %g", name, x)
			}
		}
		if lo, hi := got.Interval[0], got.Interval[1]; math.IsNaN(lo) != math.IsNaN(hi) || lo > hi {
			t.Errorf("interval [%g, %g]", lo, hi)
		}
		WelchTable(in.Old, in.New)
	})
}

func BenchmarkCompareFixed30(b *testing.B) { benchmarkCompare(b, 30, Design{}) }
func BenchmarkCompareAdaptive100(b *testing.B) {
	benchmarkCompare(b, 100, Design{Looks: DefaultLooks()})
}
func BenchmarkCompareGate100(b *testing.B) {
	benchmarkCompare(b, 100, Design{Looks: DefaultLooks(), Declared: 30})
}

func benchmarkCompare(b *testing.B, n int, d Design) {
	rng := newRand(5)
	var in Input
	for range n {
		in.Old = append(in.Old, 100+2*rng.NormFloat64())
		in.New = append(in.New, 100+2*rng.NormFloat64())
	}
	b.ReportAllocs()
	for b.Loop() {
		Compare(in, d)
	}
}

func BenchmarkDecideFixed30(b *testing.B)     { benchmarkDecide(b, 30, Design{}) }
func BenchmarkDecideAdaptive100(b *testing.B) { benchmarkDecide(b, 100, Design{Looks: DefaultLooks()}) }

func benchmarkDecide(b *testing.B, n int, d Design) {
	in, j := pairsOf(5, n, 0.02, 0), NewJudge(d)
	b.ReportAllocs()
	for b.Loop() {
		j.Decide(in)
	}
}
