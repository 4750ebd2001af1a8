package simulate

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mathext"

	"github.com/prbench/prbench/report/stats"
)

// Scenario is what is assumed of a benchmark that has not been measured yet.
type Scenario struct {
	// Design is adaptive, or has Runs set.
	Design stats.Design
	// CV is the coefficient of variation of one run on either side, a
	// fraction, and Correlation that of the two runs of a pair (0 to below 1).
	CV, Correlation float64
	// Effect is the true improvement, a fraction: negative is slower.
	Effect float64
	// Better is the direction of improvement. Zero means LowerIsBetter.
	Better stats.Better
	// From are measured samples whose spread and shape are drawn from, in
	// place of a normal distribution with CV and Correlation. Sides of one
	// length are drawn from pair by pair.
	From stats.Input
}

// Validate says what is wrong with the scenario.
func (s Scenario) Validate() error {
	if err := s.Design.Validate(); err != nil {
		return err
	}
	switch {
	case !s.Design.Adaptive() && s.Design.Runs < 2:
		return fmt.Errorf("runs %d: want 2 or more, or an adaptive design", s.Design.Runs)
	case !(s.Correlation >= 0 && s.Correlation < 1):
		return fmt.Errorf("correlation %v: want 0 or more, and below 1", s.Correlation)
	case !(s.Effect > -1 && s.Effect < 1):
		return fmt.Errorf("effect %v: want a fraction between -1 and 1", s.Effect)
	case len(s.From.Old)+len(s.From.New) > 0:
		if _, err := residualsOf(s.From); err != nil {
			return err
		}
	case !(s.CV > 0 && s.CV <= 1):
		return fmt.Errorf("cv %v: want a fraction above 0 and at most 1", s.CV)
	}
	return nil
}

// Power is what a design does with a scenario.
type Power struct {
	Scenario   Scenario
	Replicates int
	// Verdicts are the chances of each verdict, NoVerdict included; MoreThan
	// and LessThan those of Faster with that qualifier.
	Verdicts           map[stats.Verdict]float64
	MoreThan, LessThan float64
	// Stars are the chances of at least one, two and three stars.
	Stars            [3]float64
	Resolved, Futile float64
	// MeanRuns is the expected number of runs a side.
	MeanRuns float64
	// Detectable are the improvements that are called faster with 50, 80 and
	// 90 % power, as fractions; NaN beyond 100 %. They do not depend on
	// Effect.
	Detectable [3]float64
	// Error is the largest Monte-Carlo standard error of the chances.
	Error float64
}

// outcomes are the figures of a replicate: one a verdict, then these.
const (
	moreThan = iota
	lessThan
	oneStar
	twoStars
	threeStars
	resolvedShare
	futileShare
	runs
	extraFigures
)

// PowerOf simulates a scenario, in PowerReplicates(o) replicates or a few less.
func PowerOf(s Scenario, o Options) (Power, error) {
	if err := s.Validate(); err != nil {
		return Power{}, err
	}
	if o.Replicates < 1 {
		return Power{}, fmt.Errorf("replicates %d: want 1 or more", o.Replicates)
	}
	b := s.benchmark()
	verdicts := append(stats.Verdicts(), stats.NoVerdict)
	figures := follow(s.Design, b, o)
	p := Power{Scenario: s, Replicates: o.Replicates, Verdicts: map[stats.Verdict]float64{}}
	for i, v := range verdicts {
		p.Verdicts[v] = figures[i].mean()
		p.Error = math.Max(p.Error, figures[i].se())
	}
	extra := figures[len(verdicts):]
	p.MoreThan, p.LessThan = extra[moreThan].mean(), extra[lessThan].mean()
	for i := range p.Stars {
		p.Stars[i] = extra[oneStar+i].mean()
	}
	p.Resolved, p.Futile, p.MeanRuns = extra[resolvedShare].mean(), extra[futileShare].mean(), extra[runs].mean()
	for i, power := range [3]float64{0.5, 0.8, 0.9} {
		p.Detectable[i] = detectable(s, power, o)
	}
	return p, nil
}

// PowerReplicates is how many replicates PowerOf runs in all, the search for
// the detectable changes included.
func PowerReplicates(o Options) int { return o.Replicates + 3*searchSteps*searchReplicates(o) }

// searchSteps is how often the search for a detectable change is corrected.
const searchSteps = 4

func searchReplicates(o Options) int { return max(500, o.Replicates/4) }

func (s Scenario) benchmark() benchmark {
	b := benchmark{noise: Normal, cv: s.CV, correlation: s.Correlation, improvement: s.Effect, better: s.Better}
	if len(s.From.Old)+len(s.From.New) > 0 {
		b.residuals, _ = residualsOf(s.From)
	}
	return b
}

// follow measures a benchmark until its design stops.
func follow(d stats.Design, b benchmark, o Options) []figure {
	looks := looksOf(d)
	verdicts := append(stats.Verdicts(), stats.NoVerdict)
	return tally(o, 0, len(verdicts)+extraFigures, func() func(*rand.Rand, []figure) {
		judge, s := stats.NewJudge(d), source{}
		return func(rng *rand.Rand, into []figure) {
			s.begin(rng, b, d.MaxRuns())
			var last stats.Outcome
			n := 0
			for _, n = range looks {
				if last = judge.Decide(s.upTo(n)); last.Resolved || last.Futile {
					break
				}
			}
			for i, v := range verdicts {
				into[i].count(last.Verdict == v)
			}
			extra := into[len(verdicts):]
			extra[moreThan].count(last.ByMargin == stats.MoreThan)
			extra[lessThan].count(last.ByMargin == stats.LessThan)
			for i := range 3 {
				extra[oneStar+i].count(len(last.Stars) > i)
			}
			extra[resolvedShare].count(last.Resolved)
			extra[futileShare].count(last.Futile)
			extra[runs].add(float64(n))
		}
	})
}

// detectable searches the improvement that is called faster with the given
// power. The normal deviate of the power is nearly a line in the improvement,
// with the last standard error as its slope, so that a few corrections from
// the formula of a fixed design settle it.
func detectable(s Scenario, power float64, o Options) float64 {
	o.Replicates = searchReplicates(o)
	b := s.benchmark()
	se := s.relativeSE(b)
	target := mathext.NormalQuantile(power)
	faster := slices.Index(stats.Verdicts(), stats.Faster)
	effect := (1.96 + target) * se
	for range searchSteps {
		if effect >= 1 {
			return math.NaN()
		}
		b.improvement = effect
		reached := follow(s.Design, b, o)[faster].mean()
		margin := 0.5 / float64(o.Replicates)
		reached = math.Max(margin, math.Min(1-margin, reached))
		effect = math.Max(se/100, effect+(target-mathext.NormalQuantile(reached))*se)
	}
	return effect
}

// relativeSE is the standard error of the last planned estimate, relative to
// the old mean.
func (s Scenario) relativeSE(b benchmark) float64 {
	n := float64(s.Design.MaxRuns())
	if b.residuals == nil {
		rho := s.Correlation
		if s.Design.WithDefaults().Analysis == stats.Welch {
			rho = 0
		}
		return s.CV * math.Sqrt(2*(1-rho)/n)
	}
	var squares float64
	for _, pair := range b.residuals {
		squares += (pair[1] - pair[0]) * (pair[1] - pair[0])
	}
	return math.Sqrt(squares / float64(len(b.residuals)) / n)
}

// residualsOf returns the relative deviations of measured samples from their
// side's mean, stretched for the mean's having been fitted.
func residualsOf(in stats.Input) ([][2]float64, error) {
	old, new, paired := usablePairs(in)
	if len(old) < stats.MinRuns || len(new) < stats.MinRuns {
		return nil, fmt.Errorf("samples to draw from: %d and %d usable, want %d or more a side", len(old), len(new), stats.MinRuns)
	}
	relative := func(xs []float64) ([]float64, error) {
		var sum float64
		for _, x := range xs {
			sum += x / float64(len(xs))
		}
		if !(sum > 0) || math.IsInf(sum, 1) {
			return nil, fmt.Errorf("samples to draw from: mean %v, want it positive", sum)
		}
		out := make([]float64, len(xs))
		stretch := math.Sqrt(float64(len(xs)) / float64(len(xs)-1))
		for i, x := range xs {
			out[i] = (x/sum - 1) * stretch
		}
		return out, nil
	}
	a, err := relative(old)
	if err != nil {
		return nil, err
	}
	b, err := relative(new)
	if err != nil {
		return nil, err
	}
	if paired {
		out := make([][2]float64, len(a))
		for i := range a {
			out[i] = [2]float64{a[i], b[i]}
		}
		return out, nil
	}
	return crossed(a, b), nil
}

// crossed pairs every old residual with new ones at several distances, so that
// drawing a pair draws the sides independently.
func crossed(a, b []float64) [][2]float64 {
	rng := rand.New(rand.NewPCG(1, 2))
	out := make([][2]float64, 0, 64*max(len(a), len(b)))
	for range cap(out) {
		out = append(out, [2]float64{a[rng.IntN(len(a))], b[rng.IntN(len(b))]})
	}
	return out
}

// usablePairs returns the usable samples of each side, and whether they are
// pairs.
func usablePairs(in stats.Input) (old, new []float64, paired bool) {
	good := func(x float64) bool { return x > 0 && !math.IsInf(x, 1) }
	if len(in.Old) == len(in.New) {
		for i := range in.Old {
			if good(in.Old[i]) && good(in.New[i]) {
				old, new = append(old, in.Old[i]), append(new, in.New[i])
			}
		}
		return old, new, true
	}
	return slices.DeleteFunc(slices.Clone(in.Old), func(x float64) bool { return !good(x) }),
		slices.DeleteFunc(slices.Clone(in.New), func(x float64) bool { return !good(x) }), false
}

// RollUpPower returns the chances of "safe" and of "regresses" for that many
// benchmarks alike, in cases of perCase each, and their larger Monte-Carlo
// standard error. The design must be adaptive.
func RollUpPower(s Scenario, benchmarks, perCase int, o Options) (safe, regresses, deviation float64, err error) {
	if err := s.Validate(); err != nil {
		return 0, 0, 0, err
	}
	if !s.Design.Adaptive() || benchmarks < 1 || perCase < 1 || o.Replicates < 1 {
		return 0, 0, 0, fmt.Errorf("roll-up of %d benchmarks, %d a case, %d replicates: want 1 or more of each, and an adaptive design", benchmarks, perCase, o.Replicates)
	}
	all := slices.Repeat([]benchmark{s.benchmark()}, benchmarks)
	f := rollUps(o, 0, s.Design, all, min(perCase, benchmarks))
	return f[0].mean(), f[1].mean(), math.Max(f[0].se(), f[1].se()), nil
}
