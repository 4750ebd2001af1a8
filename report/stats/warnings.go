package stats

import "math"

func (c *Comparison) warn(w Warning) { c.Warnings = append(c.Warnings, w) }

// maxRunsNeeded is where advice on more runs ends.
const maxRunsNeeded = 10_000

// warnOfVariance marks an unresolved row whose spread hides a change of the
// margin, and says how many runs would show it. The condition is that of a CV
// of m·√(n/2)/(c+1.28) or more, without the n.
func (c *Comparison) warnOfVariance(d Design) {
	if settled(c.Verdict, d.Declared > 0) || !(c.Detectable[2] >= d.Margin) {
		return
	}
	z := math.Round(100*normalTwoSided(math.Log(d.Alpha))) / 100
	factor := square(c.RelativeSE * (z + power90) / d.Margin)
	if c.Verdict == Slower {
		factor = square(c.RelativeSE * (z + power80) / (c.Improvement + d.Margin))
	}
	// A factor of 1 is PerSide runs: 2·cv² is PerSide·RelativeSE².
	w := Warning{Code: WarnVariance, Value: c.CV, Limit: c.VarianceLimit, EvenOdds: c.EvenOddsCV, RunsFactor: factor}
	if !math.IsNaN(c.PerSide) {
		runs := math.Max(math.Ceil(factor*c.PerSide), math.Floor(c.PerSide)+1)
		w.RunsFactor = 0
		if runs <= maxRunsNeeded {
			c.RunsNeeded = int(runs)
			w.RunsNeeded, w.RunsFactor = c.RunsNeeded, runs/c.PerSide
		}
	}
	c.warn(w)
}

// warnOfUnderpower marks a star that just passed in a run too small for the
// margin: such a change is overstated, by about 1.3 times.
func (c *Comparison) warnOfUnderpower(ct contrast, d Design) {
	passed := math.Abs(ct.g(0)) / c.Critical
	if d.Adaptive() || c.Stars == "" || !(passed < 1.5) || !(c.Critical*c.RelativeSE >= d.Margin) {
		return
	}
	c.warn(Warning{Code: WarnUnderpowered, Value: passed, Limit: 1.5})
}

func square(x float64) float64 { return x * x }
