package stats

import "math"

// nameUnusable counts the samples that could not be used.
func (c *Comparison) nameUnusable(in Input, u usable) {
	c.UnusableOldRuns = arrivedRuns(u.unusableOld, in.Old, in.LostOld)
	c.UnusableNewRuns = arrivedRuns(u.unusableNew, in.New, in.LostNew)
	c.UnusableOld, c.UnusableNew = len(c.UnusableOldRuns), len(c.UnusableNewRuns)
}

// arrivedRuns leaves the places out that were lost and hold a NaN: up to as many
// as were lost, and the later ones where more are without a number.
func arrivedRuns(runs []int, xs []float64, lost int) []int {
	if lost == 0 {
		return runs
	}
	var out []int
	for _, n := range runs {
		if lost > 0 && math.IsNaN(xs[n-1]) {
			lost--
			continue
		}
		out = append(out, n)
	}
	return out
}

// missing handles a benchmark without usable samples on one side or both.
func (c *Comparison) missing(in Input, d Design) {
	reason, warning := ReasonNoData, Warning{Code: WarnNoData}
	switch {
	case c.Old.N > 0:
		reason, warning = ReasonOnlyOld, Warning{Code: WarnMissingSide, Side: NewSide}
	case c.New.N > 0:
		reason, warning = ReasonOnlyNew, Warning{Code: WarnMissingSide, Side: OldSide}
	}
	if len(in.Old) > 0 && len(in.New) > 0 && reason != ReasonNoData {
		// The side was measured; what it gave was no data.
		warning.Code = WarnNoData
	}
	c.warn(warning)
	c.Verdict, c.Reason, c.NoPercentage = NotComparable, reason, true
	if max(c.Old.N, c.New.N) < MinRuns || d.Adaptive() && c.Look == 0 {
		c.Verdict = NoVerdict
	}
}

// constant handles samples without spread, for which no test exists. It
// reports whether they are.
func (c *Comparison) constant(ct contrast, in Input, u usable, d Design) bool {
	largest := math.Max(math.Abs(ct.oldMean), math.Abs(ct.oldMean+ct.difference))
	if !(math.Sqrt(ct.v0) <= 10*epsilon*largest) {
		return false
	}
	equal := math.Abs(ct.difference) <= 10*epsilon*largest
	switch {
	case equal && in.Time && !(in.Resolution < d.Margin*c.Old.Mean):
		// The clock is too coarse to call two times the same.
		c.warn(Warning{Code: WarnLowResolution, Value: in.Resolution / c.Old.Mean, Limit: math.NaN()})
		c.withhold(d, NotComparable, ReasonConstant, c.fewest(), MinConstantRuns)
	case equal:
		c.Identical = true
		c.exactly(d, 0)
	case ct.oldMean <= 0:
		c.withhold(d, NotComparable, ReasonOldMean, c.fewest(), MinConstantRuns)
	case in.Count:
		c.Exact = true
		c.exactly(d, c.Improvement)
	default:
		c.warn(Warning{Code: WarnConstant})
		c.withhold(d, NotComparable, ReasonConstant, c.fewest(), MinConstantRuns)
	}
	return true
}

// exactly judges an improvement that is known without error.
func (c *Comparison) exactly(d Design, improvement float64) {
	v, beyond := judgeExact(improvement, d.Margin)
	c.ByMargin = beyond
	c.FamilyRegression = d.Declared > 0 && v == Regression
	c.withhold(d, v, ReasonNone, c.fewest(), MinConstantRuns)
	if c.Verdict != NoVerdict {
		c.Interval = [2]float64{improvement, improvement}
	}
}
