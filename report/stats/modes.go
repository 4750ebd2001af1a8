package stats

import (
	"math"
	"slices"
)

// hintModes warns where two normal populations on the log scale describe one
// side far better than one does.
func (c *Comparison) hintModes(side Side, xs []float64, scale float64) {
	const minSamples, minGain, minSeparation, minWeight = 8, 10, 3, 0.10
	if len(xs) < minSamples || slices.Min(xs) <= 0 {
		return
	}
	logs := make([]float64, len(xs))
	for i, x := range xs {
		logs[i] = math.Log(x)
	}
	m, ok := twoModes(logs)
	if !ok {
		return
	}
	minor := math.Min(m.weight, 1-m.weight)
	if m.gain > minGain && math.Abs(m.high-m.low) > minSeparation*m.sd && minor >= minWeight {
		c.warn(Warning{
			Code: WarnBimodal, Side: side, Value: m.gain, Limit: minGain,
			Modes: [2]float64{math.Exp(m.low) * scale, math.Exp(m.high) * scale}, MinorWeight: minor,
		})
	}
}

// mixture is two normal populations of one spread.
type mixture struct {
	low, high, sd float64
	weight        float64 // of low
	gain          float64 // BIC of one population less BIC of two
}

// twoModes fits the mixture by expectation and maximisation, from a start at
// the widest gap between neighbours that leaves two on either side. It is
// false where the samples do not vary.
func twoModes(xs []float64) (mixture, bool) {
	xs = slices.Sorted(slices.Values(xs))
	n := float64(len(xs))
	one := momentsOf(xs)
	if one.ss == 0 {
		return mixture{}, false
	}
	cut := 2
	for i := 2; i <= len(xs)-2; i++ {
		if xs[i]-xs[i-1] > xs[cut]-xs[cut-1] {
			cut = i
		}
	}
	lower, upper := momentsOf(xs[:cut]), momentsOf(xs[cut:])
	// A floor keeps the likelihood finite where each mode is one value.
	floor := math.Max(one.ss/n*1e-6, 1e-24)
	m := mixture{low: lower.mean, high: upper.mean, weight: float64(cut) / n, sd: math.Sqrt(math.Max(floor, (lower.ss+upper.ss)/n))}
	logLikelihood := math.Inf(-1)
	for range 100 {
		next, value := m.improve(xs, floor)
		m = next
		if value-logLikelihood < 1e-9*math.Abs(value) {
			logLikelihood = value
			break
		}
		logLikelihood = value
	}
	single := -n / 2 * (math.Log(2*math.Pi*one.ss/n) + 1)
	m.gain = (2*math.Log(n) - 2*single) - (4*math.Log(n) - 2*logLikelihood)
	return m, !math.IsNaN(m.gain)
}

// improve takes one step of the fit and returns the log-likelihood before it.
func (m mixture) improve(xs []float64, floor float64) (mixture, float64) {
	var sumLow, sumHigh, weightLow, logLikelihood float64
	share := make([]float64, len(xs))
	for i, x := range xs {
		a := math.Log(m.weight) - square((x-m.low)/m.sd)/2
		b := math.Log(1-m.weight) - square((x-m.high)/m.sd)/2
		largest := math.Max(a, b)
		total := largest + math.Log(math.Exp(a-largest)+math.Exp(b-largest))
		logLikelihood += total - math.Log(m.sd) - 0.5*math.Log(2*math.Pi)
		share[i] = math.Exp(a - total)
		weightLow += share[i]
		sumLow += share[i] * (x - xs[0])
		sumHigh += (1 - share[i]) * (x - xs[0])
	}
	n := float64(len(xs))
	if weightLow < 1e-6 || n-weightLow < 1e-6 {
		return m, logLikelihood
	}
	next := mixture{low: xs[0] + sumLow/weightLow, high: xs[0] + sumHigh/(n-weightLow), weight: weightLow / n}
	var ss float64
	for i, x := range xs {
		ss += share[i]*square(x-next.low) + (1-share[i])*square(x-next.high)
	}
	next.sd = math.Sqrt(math.Max(floor, ss/n))
	return next, logLikelihood
}
