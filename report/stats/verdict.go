package stats

// judge gives the verdict of a contrast for a margin at the level of a look.
// The first row that holds decides.
func judge(c contrast, margin float64, look *levels) (Verdict, Beyond) {
	zero := look.exceeds(c, 0, verdictLevel)
	below := look.exceeds(c, -margin, verdictLevel)
	above := look.exceeds(c, margin, verdictLevel)
	switch {
	case zero > 0 && above > 0:
		return Faster, MoreThan
	case zero > 0 && above < 0:
		return Faster, LessThan
	case zero > 0:
		return Faster, MarginUnknown
	case below < 0:
		return Regression, MarginUnknown
	case zero < 0 && below > 0:
		return SlowerWithin, MarginUnknown
	case zero < 0:
		return Slower, MarginUnknown
	case below > 0 && above < 0:
		return Equivalent, MarginUnknown
	case below > 0:
		return NoWorse, MarginUnknown
	}
	return Inconclusive, MarginUnknown
}

// VerdictOf reads the verdict off an interval of improvements: the same table
// as that of the samples. It is NoVerdict where an end is NaN.
func VerdictOf(interval [2]float64, margin float64) (Verdict, Beyond) {
	lo, hi := interval[0], interval[1]
	if !(lo <= hi) {
		return NoVerdict, MarginUnknown
	}
	switch {
	case lo > margin:
		return Faster, MoreThan
	case lo > 0 && hi < margin:
		return Faster, LessThan
	case lo > 0:
		return Faster, MarginUnknown
	case hi < -margin:
		return Regression, MarginUnknown
	case hi < 0 && lo > -margin:
		return SlowerWithin, MarginUnknown
	case hi < 0:
		return Slower, MarginUnknown
	case lo > -margin && hi < margin:
		return Equivalent, MarginUnknown
	case lo > -margin:
		return NoWorse, MarginUnknown
	}
	return Inconclusive, MarginUnknown
}

// judgeExact compares a change that has no spread directly with the margin.
// A change of just the margin is not beyond it.
func judgeExact(improvement, margin float64) (Verdict, Beyond) {
	switch {
	case improvement > margin:
		return Faster, MoreThan
	case improvement > 0:
		return Faster, LessThan
	case improvement < -margin:
		return Regression, MarginUnknown
	case improvement < 0:
		return SlowerWithin, MarginUnknown
	}
	return Equivalent, MarginUnknown
}

// settled reports whether a verdict ends the need for runs, before what a
// roll-up asks of a regression (see Comparison.Resolved).
func settled(v Verdict, rollUp bool) bool {
	switch v {
	case Faster, Regression, Equivalent, SlowerWithin, NotComparable:
		return true
	case NoWorse:
		return rollUp
	}
	return false
}
