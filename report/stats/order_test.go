package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// samplesOfKinds draws samples with one mode, two, ties and tails.
func samplesOfKinds(rng *rand.Rand) []float64 {
	xs := make([]float64, 5+rng.IntN(200))
	kind, apart, share := rng.IntN(5), 6*rng.Float64(), rng.Float64()
	for i := range xs {
		x := rng.NormFloat64()
		switch kind {
		case 1:
			x = math.Round(x)
		case 2:
			x /= math.Abs(rng.NormFloat64())
		case 3, 4:
			if rng.Float64() < share {
				x += apart
			}
		}
		xs[i] = 100 + x
	}
	return xs
}

func TestTheMedianDeviationOfOrderedSamplesIsThatOfSortedOnes(t *testing.T) {
	rng := rand.New(rand.NewPCG(14, 8))
	middleOf := func(xs []float64) float64 {
		slices.Sort(xs)
		n := len(xs)
		return xs[(n-1)/2]/2 + xs[n/2]/2
	}
	for range 2000 {
		xs := samplesOfKinds(rng)
		slices.Sort(xs)
		middle := middleOf(slices.Clone(xs))
		far := make([]float64, len(xs))
		for i, x := range xs {
			far[i] = math.Abs(x - middle)
		}
		gotMiddle, gotMAD := medianAndMAD(xs)
		if want := middleOf(far); gotMiddle != middle || gotMAD != want {
			t.Fatalf("%d samples: median %v and MAD %v, want %v and %v", len(xs), gotMiddle, gotMAD, middle, want)
		}
	}
}

func TestTheTickIsTheSmallestGapOfBothSidesTogether(t *testing.T) {
	rng := rand.New(rand.NewPCG(14, 9))
	for range 500 {
		old, new := samplesOfKinds(rng), samplesOfKinds(rng)
		all := slices.Sorted(slices.Values(slices.Concat(old, new)))
		want := math.Inf(1)
		for i := 1; i < len(all); i++ {
			if d := all[i] - all[i-1]; d > 0 {
				want = min(want, d)
			}
		}
		if got := (usable{old: old, new: new, scale: 1}).tick(0); got != want {
			t.Fatalf("tick %v, want %v", got, want)
		}
	}
}

// fitted is the whole fit, with nothing left out to be quick.
func fitted(xs []float64) (m mixture, told bool) {
	one := momentsOf(xs)
	floor := math.Max(one.ss/float64(len(xs))*1e-6, 1e-24)
	m = bestSplit(xs, one, floor)
	for range 100 {
		m = m.improve(xs, floor)
	}
	return m, one.ss > 0 && m.apart() > minSeparation && math.Min(m.weight, 1-m.weight) >= minWeight
}

// What is done to be quick must never cost a warning, and must spare most of
// the fits to samples of one mode, or it is of no use.
func TestTwoModesAreFoundWithoutFittingEverySample(t *testing.T) {
	rng := rand.New(rand.NewPCG(14, 10))
	found := 0
	for range 4000 {
		xs := samplesOfKinds(rng)
		if len(xs) < minModeSamples || slices.Min(xs) <= 0 {
			continue
		}
		slices.Sort(xs)
		for i, x := range xs {
			xs[i] = math.Log(x)
		}
		want, told := fitted(xs)
		if !told {
			continue
		}
		found++
		if !mayHaveTwoModes(xs) {
			t.Fatalf("%d samples: modes %v and %v, sd %v, weight %v, are screened out", len(xs), want.low, want.high, want.sd, want.weight)
		}
		if got, ok := twoModes(xs); !ok || math.Abs(got.apart()-want.apart()) > 0.01*want.apart() {
			t.Fatalf("%d samples: modes %+v, want %+v", len(xs), got, want)
		}
	}
	if found < 300 {
		t.Errorf("%d mixtures found: the test shows little", found)
	}
	spared, short := 0, 0
	for range 1000 {
		xs := make([]float64, 100)
		for i := range xs {
			xs[i] = rng.NormFloat64()
		}
		slices.Sort(xs)
		if !mayHaveTwoModes(xs) {
			spared++
		} else if _, ok := twoModes(xs); !ok {
			short++
		}
	}
	if spared < 750 || short < (1000-spared)*3/4 {
		t.Errorf("of 1000 normal samples, %d are spared the fit and %d more most of it", spared, short)
	}
}
