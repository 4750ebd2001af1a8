package stats

// Input is the samples of one benchmark on both sides.
type Input struct {
	// Old and New are the samples in order of measurement, usable or not. In
	// an interleaved run index i is pair i. A run that was lost (crash,
	// timeout, benchmark not printed) keeps its place as a NaN.
	Old, New []float64
	// Better is the direction of improvement. Zero means HigherIsBetter.
	Better Better
	// Count marks a declared count (allocations, bytes, instructions), which
	// may be compared exactly when it does not vary.
	Count bool
	// Time marks a duration, whose clock may be too coarse.
	Time bool
	// Resolution is the step in which values were printed, in their own unit
	// (0.01 for "3.14"); zero where it is not known.
	Resolution float64
	// LostOld and LostNew count the runs of each side that were lost to a
	// crash or a timeout. They bar "safe": survivors flatter.
	LostOld, LostNew int
	// WithinProcess marks samples that are values of one process: the table's
	// figures are given, a verdict is not.
	WithinProcess bool
}

// Summary describes the usable samples of one side that were judged.
type Summary struct {
	N    int
	Mean float64 // NaN where N is 0
	SD   float64 // with N−1; NaN where N is below 2
	CV   float64 // SD/|Mean|; NaN where either does not exist or Mean is 0
}

// Verdict is what the data support, for one benchmark and margin.
type Verdict string

const (
	Faster        Verdict = "faster"
	Regression    Verdict = "regression"           // slower by more than the margin
	SlowerWithin  Verdict = "slower-within-margin" // slower, by less than the margin
	Slower        Verdict = "slower"               // the data cannot say whether by more than the margin
	Equivalent    Verdict = "equivalent"           // no difference beyond the margin, either way
	NoWorse       Verdict = "no-worse"             // not slower by more than the margin
	Inconclusive  Verdict = "inconclusive"
	NotComparable Verdict = "not-comparable" // Comparison.Reason says why
	NoVerdict     Verdict = ""               // fewer than MinRuns samples, or no look completed
)

// Verdicts lists every verdict but NoVerdict, worst first.
func Verdicts() []Verdict {
	return []Verdict{Regression, Slower, Inconclusive, NotComparable, NoWorse, SlowerWithin, Equivalent, Faster}
}

// Beyond refines Faster: where the improvement lies with respect to the margin.
type Beyond string

const (
	MarginUnknown Beyond = ""            // the data cannot say
	MoreThan      Beyond = "more-than-m" // better by more than the margin
	LessThan      Beyond = "less-than-m" // better, by less than the margin
)

// Reason says why two sides cannot be compared, or not with a percentage.
type Reason string

const (
	ReasonNone     Reason = ""
	ReasonNoData   Reason = "no-data"  // no usable sample on either side
	ReasonOnlyOld  Reason = "only-old" // no usable sample on the new side
	ReasonOnlyNew  Reason = "only-new" // no usable sample on the old side
	ReasonConstant Reason = "constant" // no spread, no test
	ReasonOldMean  Reason = "old-mean" // the old mean is zero or negative
	ReasonRounded  Reason = "rounded"  // a printed row whose figures give no standard error
	ReasonTooFew   Reason = "too-few"  // NoVerdict: fewer than MinRuns (or MinConstantRuns) samples
	// ReasonWithinProcess goes with NoVerdict: the samples depend on each other.
	ReasonWithinProcess Reason = "within-process"
	ReasonNoLook        Reason = "no-look" // NoVerdict: an adaptive run that completed no look
)

// Comparison is everything that the statistics say about one benchmark. NaN
// stands for what does not exist.
type Comparison struct {
	Old, New Summary

	Change      float64 // (new − old)/|old|, NaN where the old mean is 0
	Improvement float64 // Change, oriented: positive is better
	Difference  float64 // new − old, in the benchmark's unit
	SE          float64 // standard error of Difference
	RelativeSE  float64 // SE/|old|
	T           float64 // Difference/SE
	DF          float64 // degrees of freedom of T: fractional for Welch
	P           float64 // two-sided, of T; not adjusted for looks or attempts
	Critical    float64 // the value that |T| must exceed for a verdict at the design's level

	// Stars is "", "*", "**" or "***". In a fixed first attempt it says
	// P < .05, .01, .001; in an adaptive design or a later attempt it is given
	// by the critical values of the look and attempt.
	Stars string
	// Accuracy is the half-width of the table's interval at StarLevels, as a
	// fraction of the old mean: |Improvement| beyond it has that star.
	Accuracy [3]float64
	// CV is the coefficient of variation of one run, both sides together:
	// (SE/|old|)·√(n/2).
	CV float64
	// PerSide is n = 2/(1/n_old + 1/n_new), the number of runs a side where
	// one number is needed; the number of pairs in a paired analysis.
	PerSide float64

	// Interval holds the improvements that the data do not contradict at the
	// design's level: {δ : |G(δ)| ≤ c(δ)}. An end may be ±Inf. Both are NaN
	// where there is no test, and equal where the comparison is exact.
	Interval [2]float64
	Verdict  Verdict
	// ByMargin refines Verdict == Faster.
	ByMargin Beyond
	// Reason explains NotComparable and NoVerdict. It is also set beside
	// NoVerdict where more runs would give NotComparable.
	Reason Reason
	// Exact says that a count without spread was compared directly.
	Exact bool
	// Identical says that both sides had the same value in all runs.
	Identical bool
	// NoPercentage says that the old mean is zero, negative, or so uncertain
	// that its interval touches zero: no percentage belongs in a report.
	NoPercentage bool
	// LowResolution says that the spread is below the tick of the clock or
	// of the print, so that verdict and stars allow for one tick.
	LowResolution bool
	// Tick is the step of the values in their own unit: the larger of the
	// printed resolution and the smallest gap between two values; NaN where
	// neither exists.
	Tick float64

	// Detectable are the changes, as fractions, that a run like this one
	// shows with 50, 80 and 90 % power.
	Detectable [3]float64
	// RunsNeeded is the number of runs a side of a fixed design that would
	// settle the row, set with WarnVariance and for Slower; zero where none
	// would, below 10,000. RunsFactor is the same as a multiple of the present
	// runs; it exists also where their number is not known (a printed table).
	RunsNeeded int
	RunsFactor float64
	// AtMargin says of Slower that the change is within a quarter of the margin
	// from it, which is why it takes so many runs to tell on which side it is.
	AtMargin bool
	// EvenOddsCV is the limit of Andreas Madsen, m·√(n/8): even odds of a
	// star for a true change of the margin. VarianceLimit is the CV from
	// which on an unresolved row is marked.
	EvenOddsCV, VarianceLimit float64

	// UnusableOld and UnusableNew count samples that were there but not
	// usable (NaN, ±Inf, zero or negative rates); LostOld and LostNew those
	// that never arrived. UnusableRuns name the former, 1-based.
	UnusableOld, UnusableNew         int
	UnusableOldRuns, UnusableNewRuns []int
	LostOld, LostNew                 int
	WithinProcess                    bool // as in Input

	Warnings []Warning

	// Look numbers the last completed look from 1; zero in a fixed design or
	// before the first look. LookReached is its number of attempted pairs.
	// Everything above is about the pairs up to there.
	Look, LookReached int
	// Unjudged is the number of attempted pairs beyond that look.
	Unjudged int
	// Resolved says that no further run of this benchmark is needed; Futile
	// that the remaining planned runs have less than 10 % chance of
	// resolving it.
	Resolved, Futile bool
	// FamilyRegression says that the regression stands at the level
	// Alpha/Declared, as the roll-up demands. False without Declared.
	FamilyRegression bool
}

// WarningCode names a kind of warning; the codes appear in the JSON report.
type WarningCode string

const (
	WarnVariance        WarningCode = "variance-too-high"
	WarnOneRun          WarningCode = "one-run"
	WarnNoData          WarningCode = "no-data"
	WarnConstant        WarningCode = "constant"
	WarnMissingSide     WarningCode = "missing-side"
	WarnBimodal         WarningCode = "bimodal"
	WarnOutliers        WarningCode = "outliers"
	WarnDrift           WarningCode = "drift"
	WarnAutocorrelation WarningCode = "autocorrelation"
	WarnUnderpowered    WarningCode = "underpowered-star"
	WarnUnequalSpread   WarningCode = "unequal-spread"
	WarnLowResolution   WarningCode = "low-resolution"
	WarnIncomplete      WarningCode = "incomplete"
	WarnWithinProcess   WarningCode = "within-process"
)

// Side names one side of a comparison in a warning.
type Side string

const (
	BothSides Side = ""
	OldSide   Side = "old"
	NewSide   Side = "new"
)

// Warning is a hint beside a comparison. It carries numbers; the words are
// the report's.
type Warning struct {
	Code WarningCode
	Side Side // which side it is about

	// Runs are the runs concerned, 1-based in order of measurement: the
	// outliers, the unusable samples. Pairs says that they number pairs.
	Runs  []int
	Pairs bool
	// SlowFirst says of WarnOutliers that the first pair was slow.
	SlowFirst bool

	// Value is the figure that raised the warning and Limit what it passed:
	// the CV (WarnVariance), the lag-1 correlation, Kendall's p, the ratio
	// of the standard deviations, the tick as a fraction of the old mean
	// (WarnLowResolution; Limit is then NaN), the ΔBIC (WarnBimodal),
	// |T| over the critical value (WarnUnderpowered).
	Value, Limit float64
	// EvenOdds is the second limit of WarnVariance (Comparison.EvenOddsCV).
	EvenOdds float64
	// RunsNeeded and RunsFactor are for WarnVariance, as in the Comparison. In
	// a printed table without the number of runs, Value and Limit are NaN.
	RunsNeeded int
	RunsFactor float64
	// Modes are the two modes of WarnBimodal in the benchmark's unit, and
	// MinorWeight the share of the rarer.
	Modes       [2]float64
	MinorWeight float64
}
