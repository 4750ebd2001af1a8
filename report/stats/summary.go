package stats

import "math"

// moments are the mean and the sum of squared deviations of n samples.
type moments struct {
	n    int
	mean float64
	ss   float64
}

// momentsOf shifts the samples by the first of them and then takes two
// passes, so that an offset far above the spread costs no digits. The mean
// itself comes from an exact sum, since samples of both signs may nearly
// cancel. The samples must be finite.
func momentsOf(xs []float64) moments {
	if len(xs) == 0 {
		return moments{mean: math.NaN(), ss: math.NaN()}
	}
	n, x0 := float64(len(xs)), xs[0]
	var sum float64
	for _, x := range xs {
		sum += x - x0
	}
	shift := sum / n
	var ss, rest float64
	for _, x := range xs {
		d := (x - x0) - shift
		ss += d * d
		rest += d
	}
	// rest would be zero without rounding; it corrects both figures.
	return moments{n: len(xs), mean: compensatedSum(xs) / n, ss: math.Max(0, ss-rest*rest/n)}
}

// compensatedSum is Neumaier's sum, which carries the rounding along.
func compensatedSum(xs []float64) float64 { return shiftedSum(xs, 0) }

// shiftedSum is the compensated sum of x − x0.
func shiftedSum(xs []float64, x0 float64) float64 {
	var sum, rest float64
	for _, x := range xs {
		x -= x0
		next := sum + x
		if math.Abs(sum) >= math.Abs(x) {
			rest += (sum - next) + x
		} else {
			rest += (x - next) + sum
		}
		sum = next
	}
	return sum + rest
}

// variance is NaN below two samples.
func (m moments) variance() float64 {
	if m.n < 2 {
		return math.NaN()
	}
	return m.ss / float64(m.n-1)
}

// meanVariance is the variance of the mean, s²/n.
func (m moments) meanVariance() float64 { return m.variance() / float64(m.n) }

func (m moments) summary(scale float64) Summary {
	s := Summary{N: m.n, Mean: m.mean * scale, SD: math.Sqrt(m.variance()) * scale, CV: math.NaN()}
	if cv := math.Sqrt(m.variance()) / math.Abs(m.mean); !math.IsInf(cv, 0) {
		s.CV = cv
	}
	return s
}

// perSide is n = 2/(1/n_o + 1/n_n).
func perSide(nOld, nNew int) float64 {
	if nOld == 0 || nNew == 0 {
		return math.NaN()
	}
	return 2 / (1/float64(nOld) + 1/float64(nNew))
}

// meanDifference is new − old without the rounding of two large means: both
// sides are shifted by the same sample first.
func meanDifference(old, new []float64) float64 {
	x0 := old[0]
	return shiftedSum(new, x0)/float64(len(new)) - shiftedSum(old, x0)/float64(len(old))
}

// powerOfTwoScale returns the power of two by which samples of an extreme
// size are to be divided so that their squares neither overflow nor vanish; 1
// for ordinary ones. Dividing by it is exact.
func powerOfTwoScale(sides ...[]float64) float64 {
	var largest float64
	for _, xs := range sides {
		for _, x := range xs {
			if x = math.Abs(x); x > largest {
				largest = x
			}
		}
	}
	if largest == 0 || (largest > 1e-100 && largest < 1e100) {
		return 1
	}
	_, e := math.Frexp(largest)
	return math.Ldexp(1, min(max(e, -1000), 1000))
}

func scaled(xs []float64, scale float64) []float64 {
	if scale == 1 {
		return xs
	}
	out := make([]float64, len(xs))
	for i, x := range xs {
		out[i] = x / scale
	}
	return out
}
