package stats

import "math"

// Two modes are told where their gain in BIC is above minGain, their means are
// more than minSeparation standard deviations apart, and the smaller holds at
// least the share minWeight of the runs.
const (
	minModeSamples = 8
	minGain        = 10
	minSeparation  = 3
	minWeight      = 0.10
)

// hintModes warns where two normal populations on the log scale describe one
// side, in order of size, far better than one does.
func (c *Comparison) hintModes(side Side, ordered []float64, scale float64) {
	if len(ordered) < minModeSamples || ordered[0] <= 0 {
		return
	}
	logs := make([]float64, len(ordered))
	for i, x := range ordered {
		logs[i] = math.Log(x)
	}
	if !mayHaveTwoModes(logs) {
		return
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

// mayHaveTwoModes is false where no fit of two modes to the ordered samples can
// come out as minSeparation and minWeight ask, which saves the fit of nearly
// all samples that have one.
//
// A fit by expectation and maximisation keeps the variance: with w the weight
// of the low mode, v = w(1−w), D the distance of the means and s the spread,
// total = s² + v·D². D > 3s is therefore v·D² > total·9v/(1+9v). And v·D is the
// mean deviation, over all samples, of those in the low mode, which is largest
// where they are the lowest w·n, each wholly: a sum that is known for every w.
func mayHaveTwoModes(ordered []float64) bool {
	n := float64(len(ordered))
	one := momentsOf(ordered)
	total := one.ss / n
	sum := 0.0 // mean deviation of the samples so far
	for i, x := range ordered {
		w, step := float64(i)/n, (x-one.mean)/n
		if mayPart(w, w+1/n, sum, sum+step, total) {
			// Between two samples the sum is a straight line: look more closely.
			const parts = 8
			for part := range parts {
				a, b := float64(part)/parts, float64(part+1)/parts
				if mayPart(w+a/n, w+b/n, sum+a*step, sum+b*step, total) {
					return true
				}
			}
		}
		sum += step
	}
	return false
}

// mayPart tells whether weights from low to high, with the largest mean
// deviations from one end to the other, reach what mayHaveTwoModes asks.
func mayPart(low, high, from, to, total float64) bool {
	const apart = minSeparation * minSeparation
	if high < minWeight || low > 1-minWeight {
		return false
	}
	most := max(math.Abs(from), math.Abs(to))
	v := min(low*(1-low), high*(1-high))
	return most*most*(1+apart*v)*(1+1e-9) >= apart*v*v*total
}

// mixture is two normal populations of one spread.
type mixture struct {
	low, high, sd float64
	weight        float64 // of low
	gain          float64 // BIC of one population less BIC of two
}

// twoModes fits the mixture by expectation and maximisation, from the best
// split in two of the ordered samples that leaves a tenth on either side. It
// is false where the samples do not vary, or the modes come too close to be told.
func twoModes(xs []float64) (mixture, bool) {
	n := float64(len(xs))
	one := momentsOf(xs)
	if one.ss == 0 {
		return mixture{}, false
	}
	// A floor keeps the likelihood finite where each mode is one value.
	floor := math.Max(one.ss/n*1e-6, 1e-24)
	m := bestSplit(xs, one, floor)
	var step float64 // of the distance of the means, in standard deviations
	for i := range 100 {
		next := m.improve(xs, floor)
		moved := math.Abs(next.low-m.low) + math.Abs(next.high-m.high) + math.Abs(next.sd-m.sd)
		before := step
		step = next.apart() - m.apart()
		m = next
		if moved < 1e-6*m.sd {
			break
		}
		if i >= 5 && len(xs) >= minHopeless && hopeless(m.apart(), step, before) {
			return mixture{}, false
		}
	}
	single := -n / 2 * (math.Log(2*math.Pi*one.ss/n) + 1)
	m.gain = (2*math.Log(n) - 2*single) - (4*math.Log(n) - 2*m.logLikelihood(xs))
	return m, !math.IsNaN(m.gain)
}

// minHopeless is the number of samples from which a fit is given up early: a
// long one is dear, and a mode of few samples may move far before it settles.
const minHopeless = 50

// hopeless tells whether the means of a fit are closing in on each other, by a
// step after the one before, to where the fit would come to nothing. What
// remains is taken for a geometric series. Most fits to samples of one mode end
// so, which would take a hundred steps to settle.
func hopeless(apart, step, before float64) bool {
	const surely = 0.9 * minSeparation
	if step >= 0 || apart >= minSeparation {
		return false
	}
	if ratio := step / before; before < 0 && ratio < 1 {
		apart += step * ratio / (1 - ratio)
	}
	return apart < surely
}

// apart is the distance of the means in standard deviations.
func (m mixture) apart() float64 { return (m.high - m.low) / m.sd }

// bestSplit cuts the sorted samples where the spread within the two parts is
// smallest.
func bestSplit(xs []float64, one moments, floor float64) mixture {
	n := float64(len(xs))
	fewest := max(2, int(math.Ceil(n/10)))
	var best mixture
	between, sum := math.Inf(-1), 0.0
	for i, x := range xs {
		if k := float64(i); i >= fewest && i <= len(xs)-fewest {
			// sum is that of the first i deviations; all of them sum to 0.
			if b := sum * sum * (1/k + 1/(n-k)); b > between {
				between = b
				best = mixture{low: one.mean + sum/k, high: one.mean - sum/(n-k), weight: k / n}
			}
		}
		sum += x - one.mean
	}
	best.sd = math.Sqrt(math.Max(floor, (one.ss-between)/n))
	return best
}

// odds returns the logarithm of the odds that x belongs to the high mode.
func (m mixture) odds(x float64) float64 {
	return math.Log((1-m.weight)/m.weight) + (m.high-m.low)*(x-(m.high+m.low)/2)/(m.sd*m.sd)
}

// improve takes one step of the fit.
func (m mixture) improve(xs []float64, floor float64) mixture {
	n, x0 := float64(len(xs)), xs[0]
	var low, sumLow, sumHigh, squares float64
	slope := (m.high - m.low) / (m.sd * m.sd)
	start := m.odds(x0)
	for _, x := range xs {
		d := x - x0
		share := 1 / (1 + math.Exp(start+slope*d))
		low += share
		sumLow += share * d
		sumHigh += (1 - share) * d
		squares += d * d
	}
	if low < 1e-6 || n-low < 1e-6 {
		return m
	}
	a, b := sumLow/low, sumHigh/(n-low)
	ss := squares - low*a*a - (n-low)*b*b
	return mixture{low: x0 + a, high: x0 + b, weight: low / n, sd: math.Sqrt(math.Max(floor, ss/n))}
}

func (m mixture) logLikelihood(xs []float64) float64 {
	var sum float64
	for _, x := range xs {
		odds := m.odds(x)
		// ln(w·e^a + (1−w)·e^b) from the low part and the odds.
		sum += -square((x-m.low)/m.sd)/2 + math.Max(0, odds) + math.Log1p(math.Exp(-math.Abs(odds)))
	}
	n := float64(len(xs))
	return sum + n*(math.Log(m.weight)-math.Log(m.sd)-0.5*math.Log(2*math.Pi))
}
