package simulate

import "github.com/prbench/prbench/report/stats"

// rollUpClaims are about 30 benchmarks together: errors with each benchmark a
// case of its own, where none is measured longer for another's sake, and
// power with ten a case.
func rollUpClaims() []Claim {
	const k = 30
	claim := func(name string, perCase int, first, rest benchmark, limits ...limit) Claim {
		all := make([]benchmark, k)
		for i := range all {
			all[i] = rest
		}
		all[0] = first
		return Claim{Name: name, Costly: true, limits: limits, run: func(o Options, id uint64) []figure { return rollUps(o, id, adaptive, all, perCase) }}
	}
	at := func(improvement, cv float64) benchmark {
		return benchmark{noise: Normal, improvement: improvement, cv: cv}
	}
	// Attempt j has 2^(1−j) of the risk, so that all have less than twice the first's:
	// the confidence that the report gives beside "safe" is what is left.
	again := func(name string, attempts int, first, rest benchmark) Claim {
		all := make([]benchmark, k)
		for i := range all {
			all[i] = rest
		}
		all[0] = first
		risk := stats.FalseStarRisk(attempts, stats.DefaultAlpha) / 2
		return Claim{Name: name, Costly: true, limits: []limit{{figure: 0, what: "false safe", bound: risk, errors: 2}},
			run: func(o Options, id uint64) []figure { return safeInAny(o, id, adaptive, all, attempts) }}
	}
	falseSafe := limit{figure: 0, what: "false safe", bound: 0.025, errors: 2}
	falseAlarm := limit{figure: 1, what: "false regresses", bound: 0.05}
	safe := func(bound float64) limit { return limit{figure: 0, what: "safe", bound: bound, atLeast: true} }
	return []Claim{
		claim("roll-up of 30, one at −2 %, the others far better", 1, at(-0.02, 0.01), at(0.2, 0.005), falseSafe),
		claim("roll-up of 30, one at −2 % and noisy, the others far better", 1, at(-0.02, 0.04), at(0.2, 0.005), falseSafe),
		again("roll-up of 30, one at −2 %, asked again until it is safe, three attempts", 3, at(-0.02, 0.01), at(0.2, 0.005)),
		claim("roll-up of 30, all unchanged", 1, at(0, 0.03), at(0, 0.03), falseAlarm),
		claim("roll-up of 30, all at −2 %", 1, at(-0.02, 0.03), at(-0.02, 0.03), falseSafe, falseAlarm),
		noted(claim("roll-up of 30, one at −5 %, cv 4 %, the others unchanged", 1, at(-0.05, 0.04), at(0, 0.005), limit{figure: 1, what: "regresses", bound: 0.95, atLeast: true}),
			"There is no slack here: a cv above 4 % misses the figure."),
		refuted(claim("roll-up of 30, ten a case, unchanged, cv 3 %", 10, at(0, 0.03), at(0, 0.03), safe(0.85)),
			"Half a point short of the 85 % that are claimed where benchmarks share a case."),
		claim("roll-up of 30, ten a case, unchanged, cv 4 %", 10, at(0, 0.04), at(0, 0.04), safe(0.07)),
		refuted(claim("roll-up of 30, one a case, unchanged, cv 3 %", 1, at(0, 0.03), at(0, 0.03), safe(0.85)), alone),
		refuted(claim("roll-up of 30, one a case, unchanged, cv 4 %", 1, at(0, 0.04), at(0, 0.04), safe(0.07)), alone),
	}
}

// alone says why a benchmark that is a case of its own is called safe less often.
const alone = "The power of a roll-up (85 % at a cv of 3 %, 7 % at 4 %) is that of benchmarks which share a case: " +
	"there a case goes on for its slowest benchmark, and the others get more runs than they would ask for. " +
	"Where each benchmark is a case of its own, measuring stops as soon as more runs are unlikely to help, and safe is said less often."
