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
func Compare(in Input, d Design) Comparison {
	d = mustValid(d)
	u := in.judged(d)
	c := absent()
	c.Look, c.LookReached, c.Unjudged = u.look, u.reached, u.unjudged
	c.LostOld, c.LostNew = in.LostOld, in.LostNew
	c.nameUnusable(in, u)
	c.Old, c.New = momentsOf(u.old).summary(u.scale), momentsOf(u.new).summary(u.scale)
	c.PerSide = perSide(c.Old.N, c.New.N)
	if c.Old.N == 0 || c.New.N == 0 {
		c.missing(d, in)
	} else {
		c.describe(in, u)
		c.compareSides(in, u, d)
	}
	c.hint(in, u, d)
	c.settle(d)
	return c
}

func mustValid(d Design) Design {
	d = d.WithDefaults()
	if err := d.Validate(); err != nil {
		panic("stats: " + err.Error())
	}
	return d
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
func (c *Comparison) describe(in Input, u usable) {
	difference := meanDifference(u.old, u.new)
	oldMean := momentsOf(u.old).mean
	c.Difference = difference * u.scale
	if oldMean != 0 {
		c.Change = difference / math.Abs(oldMean)
		c.Improvement = in.sigma() * c.Change
	}
	c.Tick = tick(u.old, u.new, in.Resolution/u.scale) * u.scale
	c.NoPercentage = oldMean <= 0
}

// compareSides needs at least one sample a side.
func (c *Comparison) compareSides(in Input, u usable, d Design) {
	if c.Old.N < 2 || c.New.N < 2 {
		c.Reason = ReasonTooFew
		return
	}
	ct := newContrast(in, u, d)
	c.SE = math.Sqrt(ct.v0) * u.scale
	if ct.oldMean != 0 {
		c.RelativeSE = math.Sqrt(ct.v0) / math.Abs(ct.oldMean)
		c.CV = c.RelativeSE * math.Sqrt(c.PerSide/2)
	}
	c.EvenOddsCV = d.Margin * math.Sqrt(c.PerSide/8)
	if c.constant(ct, in, u, d) {
		return
	}
	c.T, c.DF = ct.difference/math.Sqrt(ct.v0), ct.df(0)
	c.P = tailT(c.T, c.DF)
	if ct.oldMean <= 0 {
		c.withhold(d, NotComparable, ReasonOldMean, c.fewest(), MinRuns)
		return
	}
	if smaller := math.Min(c.Old.SD, c.New.SD); smaller < 0.6*c.Tick {
		ct.tick = c.Tick / u.scale
		c.LowResolution = true
	}
	c.test(ct, d, c.fewest())
}

func newContrast(in Input, u usable, d Design) contrast {
	if d.Analysis == Paired {
		return pairedContrast(u.old, u.new, in.sigma())
	}
	return welchContrast(u.old, u.new, in.sigma())
}

// nominal returns the two-sided p below which the design, at the given look
// (from 1) and its attempt, calls a difference at the given level.
func (d Design) nominal(level float64, look int) float64 {
	level = d.attemptLevel(level)
	if !d.Adaptive() {
		return level
	}
	return cachedBoundary(d.Looks, level)[look-1]
}

// fewest is the number of usable samples of the smaller side.
func (c *Comparison) fewest() int { return min(c.Old.N, c.New.N) }

// test fills in what the critical values decide, from n samples a side.
func (c *Comparison) test(ct contrast, d Design, n int) {
	if d.Adaptive() && c.Look == 0 {
		c.Reason = ReasonNoLook
		return
	}
	level := d.nominal(d.Alpha, c.Look)
	c.Critical = ct.critical(0, level)
	logTail := logTailT(ct.g(0), c.DF)
	for i, risk := range StarLevels {
		p := d.nominal(risk, c.Look)
		c.Accuracy[i] = ct.critical(0, p) * c.RelativeSE
		if logTail < math.Log(p) {
			c.Stars = "***"[:i+1]
		}
	}
	for i, power := range [3]float64{0, power80, power90} {
		c.Detectable[i] = (c.Critical + power) * c.RelativeSE
	}
	c.VarianceLimit = d.Margin * math.Sqrt(c.PerSide/2) / (c.Critical + power90)
	c.Interval = ct.interval(level)
	c.NoPercentage = ct.oldTouchesZero(level)
	c.Verdict, c.ByMargin = judge(ct, d.Margin, level)
	if d.Declared > 0 {
		family := d.nominal(d.Alpha/float64(d.Declared), c.Look)
		c.FamilyRegression = ct.sign(-d.Margin, family) < 0
	}
	c.withhold(d, c.Verdict, ReasonNone, n, MinRuns)
	c.warnOfVariance(d)
	c.warnOfUnderpower(ct, d)
}

// withhold sets the verdict where there are enough samples for it, and says
// that there are not otherwise.
func (c *Comparison) withhold(d Design, v Verdict, why Reason, n, enough int) {
	c.Verdict, c.Reason = v, why
	few := n < enough
	noLook := d.Adaptive() && c.Look == 0
	if !few && !noLook {
		return
	}
	c.Verdict, c.ByMargin, c.FamilyRegression = NoVerdict, MarginUnknown, false
	switch {
	case why != ReasonNone:
	case few:
		c.Reason = ReasonTooFew
	default:
		c.Reason = ReasonNoLook
	}
}
