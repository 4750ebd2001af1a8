package stats

import "math"

// epsilon is the distance from 1 to the next float64.
const epsilon = 0x1p-52

// The standard normal deviates of 80 and 90 % power, to the two digits in
// which the rules give them.
const (
	power80 = 0.84
	power90 = 1.28
)

// Compare says what the samples of one benchmark support, under a design that
// was fixed before. An adaptive design is judged at its last completed look,
// a fixed one on all usable samples. It panics where the design is not valid.
// To compare many benchmarks under one design, a Judge is faster.
func Compare(in Input, d Design) Comparison { return NewJudge(d).Compare(in) }

// Compare says what the samples of one benchmark support.
func (j *Judge) Compare(in Input) Comparison {
	c, u := j.compare(in, true)
	c.hint(in, u, j.design)
	return c
}

// compare decides everything that a verdict and the stop rule need; with
// full, also what a report shows beside it.
func (j *Judge) compare(in Input, full bool) (Comparison, usable) {
	u := in.judged(j.design)
	if full {
		u.order()
	}
	c := absent()
	c.Look, c.LookReached, c.Unjudged = u.look, u.reached, u.unjudged
	c.LostOld, c.LostNew, c.WithinProcess = in.LostOld, in.LostNew, in.WithinProcess
	c.nameUnusable(in, u)
	old, new := momentsOf(u.old), momentsOf(u.new)
	c.Old, c.New = old.summary(u.scale), new.summary(u.scale)
	c.PerSide = perSide(old.n, new.n)
	if old.n == 0 || new.n == 0 {
		c.missing(in, j.design)
	} else {
		c.describe(in, u, old, full)
		c.compareSides(in, u, j, full)
	}
	c.settle(j)
	return c, u
}

// absent is a comparison of which nothing exists yet.
func absent() Comparison {
	nan := math.NaN()
	return Comparison{
		Change: nan, Improvement: nan, Difference: nan, SE: nan, RelativeSE: nan, T: nan, DF: nan, P: nan,
		Critical: nan, Accuracy: [3]float64{nan, nan, nan}, CV: nan, PerSide: nan, Interval: [2]float64{nan, nan},
		Tick: nan, Detectable: [3]float64{nan, nan, nan}, EvenOddsCV: nan, VarianceLimit: nan,
	}
}

// describe fills in what needs one sample a side.
func (c *Comparison) describe(in Input, u usable, old moments, full bool) {
	difference := meanDifference(u.old, u.new)
	c.Difference = difference * u.scale
	// An old mean so small that the quotient overflows is as good as zero.
	if change := difference / math.Abs(old.mean); old.mean != 0 && !math.IsInf(change, 0) {
		c.Change = change
		c.Improvement = in.sigma() * c.Change
	}
	if full {
		c.Tick = u.tick(in.Resolution/u.scale) * u.scale
	}
	c.NoPercentage = old.mean <= 0 || math.IsNaN(c.Change)
}

// compareSides needs at least one sample a side.
func (c *Comparison) compareSides(in Input, u usable, j *Judge, full bool) {
	if c.Old.N < 2 || c.New.N < 2 {
		c.Reason = ReasonTooFew
		return
	}
	d := j.design
	ct := newContrast(in, u, d)
	c.SE = math.Sqrt(ct.v0) * u.scale
	if relative := math.Sqrt(ct.v0) / math.Abs(ct.oldMean); ct.oldMean != 0 && !math.IsInf(relative, 0) {
		c.RelativeSE = relative
		c.CV = c.RelativeSE * math.Sqrt(c.PerSide/2)
	}
	c.EvenOddsCV = d.Margin * math.Sqrt(c.PerSide/8)
	if c.constant(ct, in, u, d) {
		return
	}
	c.T, c.DF = ct.difference/math.Sqrt(ct.v0), ct.df(0)
	if full {
		c.P = tailT(c.T, c.DF)
	}
	if ct.oldMean <= 0 || math.IsNaN(c.Change) || math.IsNaN(c.RelativeSE) {
		c.NoPercentage = true
		c.withhold(d, NotComparable, ReasonOldMean, c.fewest(), MinRuns)
		return
	}
	if smaller := math.Min(c.Old.SD, c.New.SD) / u.scale; !finerThan(u.old, u.new, smaller/0.6, in.Resolution/u.scale) {
		if q := u.tick(in.Resolution / u.scale); smaller < 0.6*q {
			ct.tick = q
			c.LowResolution = true
		}
	}
	c.test(ct, j, c.fewest(), full)
}

func newContrast(in Input, u usable, d Design) contrast {
	if d.Analysis == Paired {
		return pairedContrast(u.old, u.new, in.sigma())
	}
	return welchContrast(u.old, u.new, in.sigma())
}

// fewest is the number of usable samples of the smaller side.
func (c *Comparison) fewest() int { return min(c.Old.N, c.New.N) }

// test fills in what the critical values decide, from n samples a side.
func (c *Comparison) test(ct contrast, j *Judge, n int, full bool) {
	d := j.design
	if d.Adaptive() && c.Look == 0 {
		c.Reason = ReasonNoLook
		return
	}
	look := j.at(c.Look)
	c.Stars = "***"[:look.stars(ct)]
	v, beyond := judge(ct, d.Margin, look)
	c.ByMargin = beyond
	c.FamilyRegression = d.Declared > 0 && look.exceeds(ct, -d.Margin, familyLevel) < 0
	c.withhold(d, v, ReasonNone, n, MinRuns)
	if full {
		c.elaborate(ct, look, d)
	}
}

// elaborate adds what a report shows beside the verdict.
func (c *Comparison) elaborate(ct contrast, look *levels, d Design) {
	c.Critical = look.criticalValue(verdictLevel, c.DF)
	for kind := range StarLevels {
		c.Accuracy[kind] = look.criticalValue(kind, c.DF) * c.RelativeSE
	}
	for i, power := range [3]float64{0, power80, power90} {
		c.Detectable[i] = (c.Critical + power) * c.RelativeSE
	}
	c.VarianceLimit = d.Margin * math.Sqrt(c.PerSide/2) / (c.Critical + power90)
	c.Interval = ct.interval(look.p[verdictLevel])
	c.NoPercentage = ct.oldTouchesZero(look.p[verdictLevel])
	c.warnOfVariance(d, c.Verdict, c.Improvement)
	c.warnOfUnderpower(ct, d)
}

// withhold sets the verdict where there are enough samples for it, and says
// that there are not otherwise.
func (c *Comparison) withhold(d Design, v Verdict, why Reason, n, enough int) {
	c.Verdict, c.Reason = v, why
	few := n < enough
	noLook := d.Adaptive() && c.Look == 0
	if !few && !noLook && !c.WithinProcess {
		return
	}
	c.Verdict, c.ByMargin, c.FamilyRegression = NoVerdict, MarginUnknown, false
	switch {
	case why != ReasonNone:
	case few:
		c.Reason = ReasonTooFew
	case noLook:
		c.Reason = ReasonNoLook
	default:
		c.Reason = ReasonWithinProcess
	}
}
