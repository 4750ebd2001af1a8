package stats

// RollUpVerdict is what a release line or a gate asks of all benchmarks
// together.
type RollUpVerdict string

const (
	Safe               RollUpVerdict = "safe"
	Regresses          RollUpVerdict = "regresses"
	RollUpInconclusive RollUpVerdict = "inconclusive"
)

// RollUpItem is what the roll-up needs to know of one benchmark.
type RollUpItem struct {
	Verdict Verdict
	// FamilyRegression is a regression at the level Alpha/Declared.
	FamilyRegression bool
	// Lost says that samples of it were lost or unusable, which bars "safe":
	// survivors flatter.
	Lost bool
}

// RollUpItem returns the comparison's part in a roll-up. Its design must have
// had Declared set to the number of benchmarks of the roll-up.
func (c Comparison) RollUpItem() RollUpItem {
	return RollUpItem{
		Verdict:          c.Verdict,
		FamilyRegression: c.FamilyRegression,
		Lost:             c.LostOld+c.LostNew+c.UnusableOld+c.UnusableNew > 0,
	}
}

// RollUp is the verdict on all declared benchmarks together.
type RollUp struct {
	Verdict RollUpVerdict
	// Declared is K. Held counts the benchmarks that support "safe",
	// Regressing those that regress at the level alpha/K, Open the rest,
	// those of which nothing arrived included.
	Declared, Held, Regressing, Open int
	// HostUnfit says that only the host kept it from "safe".
	HostUnfit bool
}

// Combine rolls up the benchmarks of which something arrived, out of the
// declared ones (every benchmark that either side printed).
//
// Safe is an intersection-union test: each benchmark must hold on its own, so
// that no correction is due. Regresses is the union, so each is tested at
// alpha/declared. An unfit host bars "safe".
func Combine(items []RollUpItem, declared int, hostUnfit bool) RollUp {
	r := RollUp{Verdict: RollUpInconclusive, Declared: max(declared, len(items))}
	for _, item := range items {
		switch {
		case item.FamilyRegression && item.Verdict == Regression:
			r.Regressing++
		case holds(item.Verdict) && !item.Lost:
			r.Held++
		}
	}
	r.Open = r.Declared - r.Regressing - r.Held
	switch {
	case r.Regressing > 0:
		r.Verdict = Regresses
	case r.Declared == 0 || r.Open > 0:
	case hostUnfit:
		r.HostUnfit = true
	default:
		r.Verdict = Safe
	}
	return r
}

// holds reports whether a verdict says that nothing got worse by more than
// the margin.
func holds(v Verdict) bool {
	return v == Faster || v == Equivalent || v == SlowerWithin || v == NoWorse
}

// ExpectedFalseStars returns how many of the compared benchmarks are to be
// expected with one, two and three stars by chance alone, if nothing changed:
// "at most" in an adaptive design.
func ExpectedFalseStars(compared int) [3]float64 {
	var out [3]float64
	for i, risk := range StarLevels {
		out[i] = float64(compared) * risk
	}
	return out
}
