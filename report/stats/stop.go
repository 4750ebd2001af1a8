package stats

import "math"

// futileBelow is the chance of being resolved by the last look below which
// further runs are not worth their time.
const futileBelow = 0.10

// settle decides whether the benchmark needs further runs.
func (c *Comparison) settle(j *Judge) {
	d := j.design
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
	c.Futile = c.chanceOfResolving(j) < futileBelow
}

// chanceOfResolving is the probability that the last look resolves the
// benchmark, if its true improvement is the present estimate's and its spread
// stays: P = A + Q, the chance of a regression and that of any other
// resolution.
func (c *Comparison) chanceOfResolving(j *Judge) float64 {
	d := j.design
	m, e := d.Margin, c.Improvement
	planned := float64(d.MaxRuns())
	s := c.CV * math.Sqrt(2/c.PerSide-2/planned)
	if !(s > 0) {
		return 1
	}
	half := c.CV * math.Sqrt(2/planned) // the last standard error
	h, hRegression := j.lastDeviate*half, j.lastDeviate*half
	if d.Declared > 0 {
		hRegression = j.lastFamilyDeviate * half
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
