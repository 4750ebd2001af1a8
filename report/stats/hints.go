package stats

import (
	"math"
	"slices"
)

// madLimit is ten standard deviations of a normal sample, in units of its
// median absolute deviation.
const madLimit = 14.8

// hint adds the warnings that describe the samples and decide nothing.
func (c *Comparison) hint(in Input, u usable, d Design) {
	for _, side := range []struct {
		side     Side
		n, lost  int
		unusable []int
	}{{OldSide, c.Old.N, c.LostOld, c.UnusableOldRuns}, {NewSide, c.New.N, c.LostNew, c.UnusableNewRuns}} {
		if side.lost > 0 && side.n > 0 {
			c.warn(Warning{Code: WarnIncomplete, Side: side.side})
		}
		if len(side.unusable) > 0 {
			c.warn(Warning{Code: WarnNoData, Side: side.side, Runs: side.unusable})
		}
	}
	if c.WithinProcess {
		c.warn(Warning{Code: WarnWithinProcess})
	}
	if c.Old.N == 1 || c.New.N == 1 {
		c.warn(Warning{Code: WarnOneRun})
	}
	if c.LowResolution {
		c.warn(Warning{Code: WarnLowResolution, Value: c.Tick / c.Old.Mean, Limit: math.NaN()})
	}
	if c.Old.N < MinRuns || c.New.N < MinRuns {
		return
	}
	judgedOld, judgedNew := in.window(in.Old, d, u), in.window(in.New, d, u)
	first := c.hintOutliers(in, OldSide, judgedOld, in.ordered(judgedOld, u.orderedOld, u))
	first = c.hintOutliers(in, NewSide, judgedNew, in.ordered(judgedNew, u.orderedNew, u)) || first
	c.hintPairs(in, judgedOld, judgedNew, first)
	if !c.LowResolution {
		c.hintModes(OldSide, u.orderedOld, u.scale)
		c.hintModes(NewSide, u.orderedNew, u.scale)
	}
	if ratio := math.Max(c.Old.SD, c.New.SD) / math.Min(c.Old.SD, c.New.SD); ratio > 2 && !math.IsInf(ratio, 1) {
		side := OldSide
		if c.New.SD > c.Old.SD {
			side = NewSide
		}
		c.warn(Warning{Code: WarnUnequalSpread, Side: side, Value: ratio, Limit: 2})
	}
}

// window returns the samples of one side up to the last completed look, in
// their places.
func (in Input) window(xs []float64, d Design, u usable) []float64 {
	if d.Adaptive() && u.look > 0 {
		return xs[:min(u.reached, len(xs))]
	}
	return xs
}

// ordered returns the usable samples among xs in order of size: those that
// the comparison ordered already, where it worked on the very same.
func (in Input) ordered(xs, known []float64, u usable) []float64 {
	if u.scale == 1 && len(known) == len(xs) && len(u.unusableOld)+len(u.unusableNew) == 0 {
		return known
	}
	good := keepIf(xs, in.good)
	slices.Sort(good)
	return good
}

// hintOutliers names the runs far from the median and reports whether the
// first run is one of them.
func (c *Comparison) hintOutliers(in Input, side Side, xs, ordered []float64) (first bool) {
	middle, mad := medianAndMAD(ordered)
	if mad == 0 {
		return false
	}
	var runs []int
	for i, x := range xs {
		if in.good(x) && math.Abs(x-middle) > madLimit*mad {
			runs = append(runs, i+1)
		}
	}
	if len(runs) == 0 {
		return false
	}
	c.warn(Warning{Code: WarnOutliers, Side: side, Runs: runs, Limit: madLimit})
	return runs[0] == 1
}

// hintPairs looks at the means of the pairs over time: a slow start, a trend,
// a dependence of each on the one before. firstNamed says that the first run
// is named as an outlier already.
func (c *Comparison) hintPairs(in Input, old, new []float64, firstNamed bool) {
	var means []float64
	firstUsable := false
	for i := range min(len(old), len(new)) {
		if in.good(old[i]) && in.good(new[i]) {
			means = append(means, old[i]/2+new[i]/2)
			firstUsable = firstUsable || i == 0
		}
	}
	if len(means) < MinRuns {
		return
	}
	trend, ordered := trendAndOrder(means)
	middle, mad := medianAndMAD(ordered)
	if slow := -in.sigma() * (means[0] - middle); firstUsable && !firstNamed && mad > 0 && slow > madLimit*mad {
		c.warn(Warning{Code: WarnOutliers, Pairs: true, Runs: []int{1}, SlowFirst: true, Limit: madLimit})
	}
	limit := 2 / math.Sqrt(float64(len(means)))
	if rho := lagOne(means); rho > limit {
		c.warn(Warning{Code: WarnAutocorrelation, Pairs: true, Value: rho, Limit: limit})
	}
	if trend < 0.01 {
		c.warn(Warning{Code: WarnDrift, Pairs: true, Value: trend, Limit: 0.01})
	}
}

func keepIf(xs []float64, keep func(float64) bool) []float64 {
	var out []float64
	for _, x := range xs {
		if keep(x) {
			out = append(out, x)
		}
	}
	return out
}

// medianAndMAD returns the median of ordered samples and the median absolute
// deviation from it.
func medianAndMAD(ordered []float64) (middle, mad float64) {
	n := len(ordered)
	if n == 0 {
		return math.NaN(), math.NaN()
	}
	middle = mid(ordered[(n-1)/2], ordered[n/2])
	// The deviations rise to either side of the median: they are merged up to
	// their own middle.
	below := n / 2
	for below > 0 && ordered[below-1] > middle {
		below--
	}
	above := below
	below--
	var last, before float64
	for range n/2 + 1 {
		before = last
		if above == n || below >= 0 && middle-ordered[below] <= ordered[above]-middle {
			last = middle - ordered[below]
			below--
		} else {
			last = ordered[above] - middle
			above++
		}
	}
	if n%2 == 1 {
		return middle, last
	}
	return middle, mid(before, last)
}

// mid is the mean of two values, without overflow.
func mid(a, b float64) float64 {
	if a == b {
		return a
	}
	return a/2 + b/2
}

// lagOne is the first autocorrelation; 0 where nothing varies.
func lagOne(xs []float64) float64 {
	scale := powerOfTwoScale(xs)
	xs = scaled(xs, scale)
	m := momentsOf(xs)
	if m.ss == 0 {
		return 0
	}
	var cross float64
	for i := 1; i < len(xs); i++ {
		cross += (xs[i] - m.mean) * (xs[i-1] - m.mean)
	}
	return cross / m.ss
}

// kendallTrend returns the two-sided p-value of Kendall's rank correlation
// with time, by its normal approximation with corrections for continuity and
// for ties.
func kendallTrend(xs []float64) float64 {
	p, _ := trendAndOrder(xs)
	return p
}

// trendAndOrder is kendallTrend, and gives the samples in order of size too,
// which it has to make.
func trendAndOrder(xs []float64) (p float64, sorted []float64) {
	n := float64(len(xs))
	sorted = slices.Clone(xs)
	falls := countFalls(sorted, make([]float64, len(xs)))
	variance, ties := n*(n-1)*(2*n+5), 0.0
	for i := 0; i < len(sorted); {
		j := i
		for j < len(sorted) && sorted[j] == sorted[i] {
			j++
		}
		t := float64(j - i)
		variance -= t * (t - 1) * (2*t + 5)
		ties += t * (t - 1) / 2
		i = j
	}
	if variance <= 0 {
		return 1, sorted
	}
	s := n*(n-1)/2 - ties - 2*falls
	z := math.Max(0, math.Abs(s)-1) / math.Sqrt(variance/18)
	return 2 * normalUpper(z), sorted
}

// countFalls sorts xs by merging, with a buffer of the same length, and
// returns the number of pairs in which the earlier value was the larger.
func countFalls(xs, buffer []float64) float64 {
	if len(xs) < 2 {
		return 0
	}
	half := len(xs) / 2
	falls := countFalls(xs[:half], buffer[:half]) + countFalls(xs[half:], buffer[half:])
	copy(buffer, xs)
	i, j := 0, half
	for k := range xs {
		if j == len(xs) || i < half && buffer[i] <= buffer[j] {
			xs[k] = buffer[i]
			i++
		} else {
			xs[k] = buffer[j]
			j++
			falls += float64(half - i)
		}
	}
	return falls
}
