package stats

import "fmt"

// Better says in which direction a value improves.
type Better int8

const (
	// HigherIsBetter is for rates: ops/s, MB/s.
	HigherIsBetter Better = +1
	// LowerIsBetter is for costs: ns/op, B/op, allocs/op, s.
	LowerIsBetter Better = -1
)

// Analysis names how the two sides are compared.
type Analysis string

const (
	// Welch treats the sides as two independent samples of unequal variance:
	// the analysis of Node's compare.R and of a fixed number of runs.
	Welch Analysis = "welch"
	// Paired works on the differences within pairs of runs: the analysis of
	// an adaptive comparison.
	Paired Analysis = "paired"
)

// The values that a Design takes where it says nothing.
const (
	DefaultMargin = 0.02
	DefaultAlpha  = 0.05
)

// DefaultLooks returns the numbers of attempted pairs after which an adaptive
// comparison looks at its data, unless the configuration plans others.
func DefaultLooks() []int { return []int{8, 15, 25, 40, 65, 100} }

// MaxLooks and MaxPairs bound what a Design may plan.
const (
	MaxLooks = 100
	MaxPairs = 100_000
)

// MinRuns is the smallest number of samples a side from which a verdict is
// given, and MinConstantRuns the smallest when neither side has any spread.
const (
	MinRuns         = 5
	MinConstantRuns = 8
)

// StarLevels are the risks at which the table gives its stars and accuracies:
// "*", "**" and "***".
var StarLevels = [3]float64{0.05, 0.01, 0.001}

// A Design is what was decided before the first sample was taken.
type Design struct {
	// Margin is the change that matters, a fraction: 0 < Margin ≤ 0.5.
	// Zero means DefaultMargin.
	Margin float64
	// Alpha is the two-sided risk of the verdicts of a first attempt:
	// 0 < Alpha ≤ 0.5. Zero means DefaultAlpha. Stars do not depend on it.
	Alpha float64
	// Analysis is Welch or Paired. Empty means Welch for a fixed design and
	// Paired for an adaptive one.
	Analysis Analysis
	// Runs is the number of runs a side of a fixed design; zero where the
	// samples came from elsewhere and are as many as they are. It is not
	// used by Compare, only by a Monitor.
	Runs int
	// Looks are the numbers of attempted pairs, strictly increasing, after
	// which an adaptive comparison judges its data. Nil is a fixed design.
	Looks []int
	// Attempt numbers the statistical repeats of the same comparison from 1;
	// attempt j is judged at 2^(1−j) of each level. Zero means 1.
	Attempt int
	// Declared is the number of benchmarks that the roll-up will be about
	// (every one that either side printed), for a gate or a release line.
	// Zero means that there is no roll-up. It makes regressions resolve at
	// the level Alpha/Declared, and no-worse resolve too.
	Declared int
}

// Adaptive reports whether the design looks at its data on the way.
func (d Design) Adaptive() bool { return len(d.Looks) > 0 }

// MaxRuns returns the largest planned number of runs a side, zero where a
// fixed design does not say.
func (d Design) MaxRuns() int {
	if d.Adaptive() {
		return d.Looks[len(d.Looks)-1]
	}
	return d.Runs
}

// WithDefaults returns the design with every unset field filled in.
func (d Design) WithDefaults() Design {
	if d.Margin == 0 {
		d.Margin = DefaultMargin
	}
	if d.Alpha == 0 {
		d.Alpha = DefaultAlpha
	}
	if d.Attempt == 0 {
		d.Attempt = 1
	}
	if d.Analysis == "" {
		d.Analysis = Welch
		if d.Adaptive() {
			d.Analysis = Paired
		}
	}
	return d
}

// MaxAttempts bounds Design.Attempt: beyond it the level of an attempt is
// below anything that a benchmark could reach.
const MaxAttempts = 30

// Validate says what is wrong with the design, after WithDefaults. Compare and
// the other functions that take a Design panic where Validate fails: designs
// come from a checked configuration, never from the data.
func (d Design) Validate() error {
	d = d.WithDefaults()
	switch {
	case !(d.Margin > 0 && d.Margin <= 0.5):
		return fmt.Errorf("margin %v: want a fraction above 0 and at most 0.5", d.Margin)
	case !(d.Alpha > 0 && d.Alpha <= 0.5):
		return fmt.Errorf("alpha %v: want a fraction above 0 and at most 0.5", d.Alpha)
	case d.Analysis != Welch && d.Analysis != Paired:
		return fmt.Errorf("analysis %q: want %q or %q", d.Analysis, Welch, Paired)
	case d.Attempt < 1 || d.Attempt > MaxAttempts:
		return fmt.Errorf("attempt %d: want 1 to %d", d.Attempt, MaxAttempts)
	case d.Declared < 0:
		return fmt.Errorf("declared benchmarks %d: want 0 or more", d.Declared)
	case d.Runs < 0 || d.Runs > MaxPairs:
		return fmt.Errorf("runs %d: want 0 to %d", d.Runs, MaxPairs)
	}
	if d.Looks != nil {
		return ValidateLooks(d.Looks)
	}
	return nil
}

// ValidateLooks says what is wrong with a list of looks.
func ValidateLooks(looks []int) error {
	if len(looks) == 0 || len(looks) > MaxLooks {
		return fmt.Errorf("%d looks: want 1 to %d", len(looks), MaxLooks)
	}
	for i, n := range looks {
		switch {
		case n < 2 || n > MaxPairs:
			return fmt.Errorf("look %d at %d pairs: want 2 to %d", i+1, n, MaxPairs)
		case i > 0 && n <= looks[i-1]:
			return fmt.Errorf("look %d at %d pairs: want more than the %d before it", i+1, n, looks[i-1])
		}
	}
	return nil
}
