package simulate

import (
	"math"
	"math/rand/v2"

	"github.com/prbench/prbench/report/stats"
)

// looksOf returns the pair counts at which a design judges: its looks, or the
// runs of a fixed design.
func looksOf(d stats.Design) []int {
	if d.Adaptive() {
		return d.Looks
	}
	return []int{d.Runs}
}

// starRates returns the shares of comparisons that show at least one, two and
// three stars at any of their looks, and of those with one star for the
// better and for the worse. Nothing stops early, which can only add stars.
func starRates(o Options, scenario uint64, d stats.Design, b benchmark) []figure {
	looks := looksOf(d)
	return tally(o, scenario, 5, func() func(*rand.Rand, []figure) {
		judge, s := stats.NewJudge(d), source{}
		return func(rng *rand.Rand, into []figure) {
			s.begin(rng, b, d.MaxRuns())
			stars, up, down := 0, false, false
			for _, n := range looks {
				o := judge.Decide(s.upTo(n))
				stars = max(stars, len(o.Stars))
				up = up || o.Stars != "" && o.Improvement > 0
				down = down || o.Stars != "" && o.Improvement < 0
			}
			for i := range 3 {
				into[i].count(stars > i)
			}
			into[3].count(up)
			into[4].count(down)
		}
	})
}

// unadjustedLooks returns the share of unchanged benchmarks with a star at any
// of ten tests, each at the level of a single one: what an adaptive design
// without its boundary would do.
func unadjustedLooks(o Options, scenario uint64) []figure {
	return tally(o, scenario, 1, func() func(*rand.Rand, []figure) {
		judge, s := stats.NewJudge(stats.Design{Analysis: stats.Paired}), source{}
		return func(rng *rand.Rand, into []figure) {
			s.begin(rng, benchmark{noise: Normal, cv: 0.03}, 100)
			star := false
			for n := 10; n <= 100; n += 10 {
				star = star || judge.Decide(s.upTo(n)).Stars != ""
			}
			into[0].count(star)
		}
	})
}

// wrongAt reports whether a verdict excludes the true improvement.
func wrongAt(o stats.Outcome, truth, margin float64) bool {
	lo, hi := math.Inf(-1), math.Inf(1) // what the verdict claims: lo < δ < hi
	switch o.Verdict {
	case stats.Faster:
		lo = 0
		switch o.ByMargin {
		case stats.MoreThan:
			lo = margin
		case stats.LessThan:
			hi = margin
		}
	case stats.Regression:
		hi = -margin
	case stats.SlowerWithin:
		lo, hi = -margin, 0
	case stats.Slower:
		hi = 0
	case stats.Equivalent:
		lo, hi = -margin, margin
	case stats.NoWorse:
		lo = -margin
	}
	return !(lo < truth && truth < hi)
}

// noWorse reports whether a verdict says that nothing got worse by the margin.
func noWorse(v stats.Verdict) bool {
	return v == stats.Faster || v == stats.Equivalent || v == stats.SlowerWithin || v == stats.NoWorse
}

// falseVerdicts returns, for the first benchmark of a case that runs until all
// of its benchmarks are resolved or futile, the share with a verdict that
// excludes the truth at any look, and with one of no-worse or better.
func falseVerdicts(o Options, scenario uint64, d stats.Design, truth benchmark, benchmarks int) []figure {
	d = d.WithDefaults()
	return tally(o, scenario, 2, func() func(*rand.Rand, []figure) {
		judge := stats.NewJudge(d)
		sources := make([]source, benchmarks)
		return func(rng *rand.Rand, into []figure) {
			for i := range sources {
				sources[i].begin(rng, truth, d.MaxRuns())
			}
			wrong, better := false, false
			for _, n := range d.Looks {
				open := false
				for i := range sources {
					o := judge.Decide(sources[i].upTo(n))
					open = open || !o.Resolved && !o.Futile
					if i == 0 {
						wrong = wrong || wrongAt(o, truth.improvement, d.Margin)
						better = better || noWorse(o.Verdict)
					}
				}
				if !open {
					break
				}
			}
			into[0].count(wrong)
			into[1].count(better)
		}
	})
}

// coverage returns the share of comparisons whose set of improvements, when
// they stop, holds the true one.
func coverage(o Options, scenario uint64, d stats.Design, b benchmark) []figure {
	looks := looksOf(d)
	return tally(o, scenario, 1, func() func(*rand.Rand, []figure) {
		judge, s := stats.NewJudge(d), source{}
		return func(rng *rand.Rand, into []figure) {
			s.begin(rng, b, d.MaxRuns())
			for _, n := range looks {
				in := s.upTo(n)
				if o := judge.Decide(in); o.Resolved || o.Futile || n == d.MaxRuns() {
					into[0].count(judge.Contains(in, b.improvement))
					return
				}
			}
		}
	})
}

// changes are the true improvements of the benchmarks that did change: some
// clear, some just at the margin of 2 %, which no number of runs resolves.
var changes = [4]float64{-0.05, -0.02, +0.02, +0.05}

// population is the mix of benchmarks that the cost of a design is told for:
// cv log-uniform from 0.3 to 6 %, 80 % unchanged.
func population(rng *rand.Rand, correlation float64) benchmark {
	b := benchmark{noise: Normal, cv: 0.003 * math.Pow(20, rng.Float64()), correlation: correlation}
	if rng.Float64() >= 0.8 {
		b.improvement = changes[rng.IntN(len(changes))]
	}
	return b
}

// cost returns the mean number of pairs and the share resolved, one benchmark
// a case.
func cost(o Options, scenario uint64, d stats.Design, correlation float64) []figure {
	looks := looksOf(d)
	return tally(o, scenario, 2, func() func(*rand.Rand, []figure) {
		judge, s := stats.NewJudge(d), source{}
		return func(rng *rand.Rand, into []figure) {
			s.begin(rng, population(rng, correlation), d.MaxRuns())
			for _, n := range looks {
				if o := judge.Decide(s.upTo(n)); o.Resolved || o.Futile || n == d.MaxRuns() {
					into[0].add(float64(n))
					into[1].count(o.Resolved)
					return
				}
			}
		}
	})
}

// rollUps returns the shares of "safe" and of "regresses" of K benchmarks,
// in cases of the given number of benchmarks.
func rollUps(o Options, scenario uint64, d stats.Design, benchmarks []benchmark, perCase int) []figure {
	d.Declared = len(benchmarks)
	return tally(o, scenario, 2, func() func(*rand.Rand, []figure) {
		judge := stats.NewJudge(d)
		sources := make([]source, perCase)
		items := make([]stats.RollUpItem, len(benchmarks))
		return func(rng *rand.Rand, into []figure) {
			for first := 0; first < len(benchmarks); first += perCase {
				last := min(first+perCase, len(benchmarks))
				runCase(rng, judge, sources, benchmarks[first:last], items[first:last])
			}
			r := stats.Combine(items, len(items), false)
			into[0].count(r.Verdict == stats.Safe)
			into[1].count(r.Verdict == stats.Regresses)
		}
	})
}

// runCase measures a case until each of its benchmarks is resolved or futile.
func runCase(rng *rand.Rand, judge *stats.Judge, sources []source, benchmarks []benchmark, items []stats.RollUpItem) {
	d := judge.Design()
	for i, b := range benchmarks {
		sources[i].begin(rng, b, d.MaxRuns())
	}
	for _, n := range d.Looks {
		open := false
		for i := range benchmarks {
			o := judge.Decide(sources[i].upTo(n))
			items[i] = stats.RollUpItem{Verdict: o.Verdict, FamilyRegression: o.FamilyRegression}
			open = open || !o.Resolved && !o.Futile
		}
		if !open {
			return
		}
	}
}

// attempts returns the share of unchanged benchmarks that show a star in any
// of n attempts, at any look before each stops.
func attempts(o Options, scenario uint64, n int) []figure {
	return tally(o, scenario, 1, func() func(*rand.Rand, []figure) {
		judges := make([]*stats.Judge, n)
		for j := range judges {
			judges[j] = stats.NewJudge(stats.Design{Looks: stats.DefaultLooks(), Attempt: j + 1})
		}
		var s source
		return func(rng *rand.Rand, into []figure) {
			star := false
			for _, judge := range judges {
				s.begin(rng, benchmark{noise: Normal, cv: 0.03}, judge.Design().MaxRuns())
				for _, n := range judge.Design().Looks {
					o := judge.Decide(s.upTo(n))
					star = star || o.Stars != ""
					if o.Resolved || o.Futile {
						break
					}
				}
			}
			into[0].count(star)
		}
	})
}
