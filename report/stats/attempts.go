package stats

import "math"

// Attempt is the result of one attempt at a comparison of the same base, head
// and benchmark, as kept with its job.
type Attempt struct {
	Number           int // from 1: Design.Attempt
	Interval         [2]float64
	Verdict          Verdict
	ByMargin         Beyond
	FamilyRegression bool
	Lost             bool
}

// Attempt returns what is to be kept of a comparison made as the given attempt.
func (c Comparison) Attempt(number int) Attempt {
	item := c.RollUpItem()
	return Attempt{
		Number: number, Interval: c.Interval, Verdict: c.Verdict, ByMargin: c.ByMargin,
		FamilyRegression: c.FamilyRegression, Lost: item.Lost,
	}
}

// Combined is the verdict of several attempts together.
type Combined struct {
	Verdict  Verdict
	ByMargin Beyond
	// Interval is the intersection of the attempts' intervals; NaN where no
	// attempt has one or they contradict each other.
	Interval [2]float64
	// Judged is the number of attempts that gave a verdict.
	Judged int
	// Contradict says that the intersection is empty.
	Contradict bool
	// FalseStarRisk bounds the chance of any false star over all attempts on
	// an unchanged benchmark, for these two builds on this machine:
	// α·(2 − 2^(1−N)), N the number of the last attempt.
	FalseStarRisk float64

	FamilyRegression, Lost bool
}

// CombineAttempts gives the verdict of all attempts: that of the intersection
// of their intervals. An attempt without a verdict (cancelled before a look,
// too few runs) takes no part. Where one attempt alone has one, it is that.
func CombineAttempts(attempts []Attempt, margin, alpha float64) Combined {
	nan := math.NaN()
	out := Combined{Interval: [2]float64{nan, nan}}
	var judged []Attempt
	last := 0
	for _, a := range attempts {
		last = max(last, a.Number)
		if a.Verdict != NoVerdict {
			judged = append(judged, a)
			out.Lost = out.Lost || a.Lost
			out.FamilyRegression = out.FamilyRegression || a.FamilyRegression
		}
	}
	out.Judged = len(judged)
	if last > 0 {
		out.FalseStarRisk = FalseStarRisk(last, alpha)
	}
	lo, hi, any := math.Inf(-1), math.Inf(1), false
	for _, a := range judged {
		out.Verdict, out.ByMargin = a.Verdict, a.ByMargin
		if a.Interval[0] <= a.Interval[1] {
			lo, hi = math.Max(lo, a.Interval[0]), math.Min(hi, a.Interval[1])
			any = true
		}
	}
	switch {
	case !any: // nothing, or not comparable in any
	case lo > hi:
		out.Verdict, out.ByMargin, out.Contradict = Inconclusive, MarginUnknown, true
	default:
		out.Interval = [2]float64{lo, hi}
		switch {
		case len(judged) == 1:
		case lo == hi: // exact
			out.Verdict, out.ByMargin = judgeExact(lo, margin)
		default:
			out.Verdict, out.ByMargin = VerdictOf(out.Interval, margin)
		}
	}
	out.FamilyRegression = out.FamilyRegression && out.Verdict == Regression
	return out
}

// RollUpItem returns the combined attempts' part in a roll-up.
func (c Combined) RollUpItem() RollUpItem {
	return RollUpItem{Verdict: c.Verdict, FamilyRegression: c.FamilyRegression, Lost: c.Lost}
}

// FalseStarRisk bounds the chance that any of the attempts gives a star to a
// benchmark that did not change, each attempt at half the level of the one
// before: level·(2 − 2^(1−attempts)).
func FalseStarRisk(attempts int, level float64) float64 {
	return level * (2 - math.Ldexp(1, 1-attempts))
}

// Pooled is an estimate over several sessions.
type Pooled struct {
	Sessions int
	Estimate float64 // the mean improvement
	Interval [2]float64
	// Between is the standard deviation between sessions beyond what their
	// own errors explain.
	Between float64
}

// MinSessions is the smallest number of sessions that are pooled.
const MinSessions = 3

// Pool combines the improvements of separate sessions, each with its standard
// error, into a mean with the Hartung-Knapp-Sidik-Jonkman interval at the
// given two-sided level (random effects, DerSimonian and Laird's variance
// between sessions). It carries no star. It is false for fewer than
// MinSessions, or where a standard error is not positive and finite.
func Pool(improvements, errors []float64, level float64) (Pooled, bool) {
	k := len(improvements)
	if k < MinSessions || len(errors) != k {
		return Pooled{}, false
	}
	weights := make([]float64, k)
	for i, se := range errors {
		if !(se > 0) || math.IsInf(se, 1) || math.IsNaN(improvements[i]) || math.IsInf(improvements[i], 0) {
			return Pooled{}, false
		}
		weights[i] = 1 / (se * se)
	}
	_, q := weightedMean(improvements, weights)
	var sum, squares float64
	for _, w := range weights {
		sum += w
		squares += w * w
	}
	between := math.Max(0, (q-float64(k-1))/(sum-squares/sum))
	sum = 0
	for i, se := range errors {
		weights[i] = 1 / (se*se + between)
		sum += weights[i]
	}
	mean, q := weightedMean(improvements, weights)
	half := criticalT(level, float64(k-1)) * math.Sqrt(q/float64(k-1)/sum)
	return Pooled{Sessions: k, Estimate: mean, Interval: [2]float64{mean - half, mean + half}, Between: math.Sqrt(between)}, true
}

// weightedMean also returns the weighted sum of squares around it.
func weightedMean(xs, weights []float64) (mean, q float64) {
	var sum, total float64
	for i, x := range xs {
		sum += weights[i] * x
		total += weights[i]
	}
	mean = sum / total
	for i, x := range xs {
		q += weights[i] * square(x-mean)
	}
	return mean, q
}
