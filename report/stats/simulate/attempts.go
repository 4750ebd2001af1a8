package simulate

import (
	"math/rand/v2"

	"github.com/prbench/prbench/report/stats"
)

// safeInAny returns the share of "safe" of K benchmarks that are measured again,
// up to so many times, until the roll-up over all attempts together says so: what
// becomes of the risk where a person asks again after every other answer. Each
// benchmark is a case of its own.
func safeInAny(o Options, scenario uint64, d stats.Design, benchmarks []benchmark, most int) []figure {
	d = d.WithDefaults()
	d.Declared = len(benchmarks)
	return tally(o, scenario, 1, func() func(*rand.Rand, []figure) {
		judges, d := make([]*stats.Judge, most), d
		for i := range judges {
			d.Attempt = i + 1
			judges[i] = stats.NewJudge(d)
		}
		return func(rng *rand.Rand, into []figure) {
			found := make([][]stats.Attempt, len(benchmarks))
			items := make([]stats.RollUpItem, len(benchmarks))
			safe := false
			for i := 0; i < most && !safe; i++ {
				for k, b := range benchmarks {
					found[k] = append(found[k], attempt(rng, judges[i], b))
					items[k] = stats.CombineAttempts(found[k], d.Margin, d.Alpha).RollUpItem()
				}
				safe = stats.Combine(items, len(items), false).Verdict == stats.Safe
			}
			into[0].count(safe)
		}
	})
}

// attempt measures a benchmark once, until it is resolved or futile.
func attempt(rng *rand.Rand, judge *stats.Judge, b benchmark) stats.Attempt {
	d, s := judge.Design(), source{}
	s.begin(rng, b, d.MaxRuns())
	at := d.MaxRuns()
	for _, n := range d.Looks {
		if o := judge.Decide(s.upTo(n)); o.Resolved || o.Futile {
			at = n
			break
		}
	}
	return judge.Compare(s.upTo(at)).Attempt(d.Attempt)
}
