package stats

import "math"

// futileBelow is the chance of being resolved by the last look below which
// further runs are not worth their time.
const futileBelow = 0.10

// settle decides whether the benchmark needs further runs.
func (c *Comparison) settle(d Design) {
	last := d.Adaptive() && c.Look == len(d.Looks)
	switch {
	case d.Adaptive() && c.Look == 0:
		return
	case c.Reason == ReasonNoData || c.Reason == ReasonOnlyOld || c.Reason == ReasonOnlyNew:
		c.Resolved = true
		return
	case c.Verdict == Regression && d.Declared > 0:
		c.Resolved = c.FamilyRegression || last || !d.Adaptive()
	default:
		c.Resolved = settled(c.Verdict, d.Declared > 0)
	}
	if c.Resolved || !d.Adaptive() || last || c.Verdict == NoVerdict {
		return
	}
	c.Futile = chanceOfResolving(c, d) < futileBelow
}

// chanceOfResolving is the probability that the last look resolves the
// benchmark, if its true improvement is the present estimate's and its spread
// stays: P = A + Q, the chance of a regression and that of any other
// resolution.
func chanceOfResolving(c *Comparison, d Design) float64 {
	m, e := d.Margin, c.Improvement
	planned := float64(d.MaxRuns())
	lastDeviate := func(level float64) float64 {
		return normalTwoSided(math.Log(d.nominal(level, len(d.Looks))))
	}
	half := c.CV * math.Sqrt(2/planned) // of the last interval, in deviates
	h := lastDeviate(d.Alpha) * half
	s := c.CV * math.Sqrt(2/c.PerSide-2/planned)
	if !(s > 0) {
		return 1
	}
	hRegression := h
	if d.Declared > 0 {
		hRegression = lastDeviate(d.Alpha/float64(d.Declared)) * half
	}
	regression := normalCDF((-m - hRegression - e) / s)
	var other float64
	switch {
	case d.Declared > 0 || h < m/2:
		other = normalUpper((-m + h - e) / s)
	case h < m:
		other = math.Max(0, normalCDF((m-h-e)/s)-normalCDF((-m+h-e)/s)) + normalUpper((h-e)/s)
	default:
		other = normalUpper((h - e) / s)
	}
	return regression + other
}
