package stats

import (
	"math"
	"slices"
)

func (c *Comparison) warn(w Warning) { c.Warnings = append(c.Warnings, w) }

// maxRunsNeeded is where advice on more runs ends.
const maxRunsNeeded = 10_000

// warnOfVariance marks an unresolved row whose spread hides a change of the
// margin, and says how many runs would show it. The condition is that of a CV
// of m·√(n/2)/(c+1.28) or more, without the n. A slower row is told the runs
// that tell it from the margin in any case.
func (c *Comparison) warnOfVariance(d Design, v Verdict, improvement float64) {
	high := c.Detectable[2] >= d.Margin
	if settled(v, d.Declared > 0) || c.WithinProcess || !(c.RelativeSE > 0) || !high && v != Slower {
		return
	}
	z := math.Round(100*normalTwoSided(math.Log(d.Alpha))) / 100
	factor := square(c.RelativeSE * (z + power90) / d.Margin)
	if v == Slower {
		distance := improvement + d.Margin
		factor = square(c.RelativeSE * (z + power80) / distance)
		c.AtMargin = math.Abs(distance) < d.Margin/4
	}
	// A factor of 1 is PerSide runs: 2·cv² is PerSide·RelativeSE².
	c.RunsFactor = factor
	if !math.IsNaN(c.PerSide) {
		c.RunsFactor = 0
		runs := max(math.Ceil(factor*c.PerSide), math.Floor(c.PerSide)+1, MinRuns)
		if runs <= maxRunsNeeded {
			c.RunsNeeded, c.RunsFactor = int(runs), runs/c.PerSide
		}
	}
	if high {
		c.warn(Warning{Code: WarnVariance, Value: c.CV, Limit: c.VarianceLimit, EvenOdds: c.EvenOddsCV, RunsNeeded: c.RunsNeeded, RunsFactor: c.RunsFactor})
	}
}

// AdviseOn decides the variance warning and the runs needed anew, by the verdict
// of all attempts together: what they have settled needs no more runs, whatever
// this attempt alone could say. The design is that of this attempt.
func (c *Comparison) AdviseOn(all Combined, d Design) {
	d = d.WithDefaults()
	c.Warnings = slices.DeleteFunc(slices.Clone(c.Warnings), func(w Warning) bool { return w.Code == WarnVariance })
	c.RunsNeeded, c.RunsFactor, c.AtMargin = 0, 0, false
	if !(c.Critical > 0) {
		return // there was no test
	}
	e := c.Improvement
	if all.Interval[0] <= all.Interval[1] {
		e = math.Min(math.Max(e, all.Interval[0]), all.Interval[1])
	}
	c.warnOfVariance(d, all.Verdict, e)
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
