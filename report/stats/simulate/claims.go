// Package simulate shows the error rates and costs that the statistics claim,
// with the product's own code on drawn samples. It is pure: the same options
// give the same figures on any machine.
package simulate

import (
	"fmt"
	"hash/fnv"
	"math"

	"github.com/prbench/prbench/report/stats"
)

// A Claim is one line of the table of claims: a scenario and the figures that
// it must reach.
type Claim struct {
	Name string
	// Costly claims simulate many benchmarks a replicate and take a tenth of
	// the replicates, but never fewer than CostlyFloor.
	Costly bool
	// Note says what has to be known to read the figure.
	Note string
	// Refuted claims were once made of the design and are not reached: they stay
	// in the table as such, and do not count as failures.
	Refuted bool

	limits []limit
	run    func(o Options, scenario uint64) []figure
}

// CostlyFloor is the number of replicates that a costly claim takes at least,
// where the options ask for as many.
const CostlyFloor = 20_000

// limit is what one figure must reach.
type limit struct {
	figure  int // its place in what run returns
	what    string
	bound   float64
	atLeast bool
	// errors is the number of Monte-Carlo standard errors that the claim
	// itself allows.
	errors float64
	number bool // a plain number, not a share
}

// Measure is one figure of a claim, as reached.
type Measure struct {
	Claim, What string
	Target      string
	Reached     float64
	Error       float64 // Monte-Carlo standard error
	Number      bool    // a plain number; else a share
	Holds       bool
}

// Check simulates the claim. slack is the number of Monte-Carlo standard
// errors by which a figure may miss its bound and still hold: 0 for the
// published table, some for a small simulation.
func (c Claim) Check(o Options, slack float64) []Measure {
	o.Replicates = c.Replicates(o)
	name := fnv.New64a()
	name.Write([]byte(c.Name))
	figures := c.run(o, name.Sum64())
	out := make([]Measure, len(c.limits))
	for i, l := range c.limits {
		f := figures[l.figure]
		m := Measure{Claim: c.Name, What: l.what, Target: l.String(), Reached: f.mean(), Error: f.se(), Number: l.number}
		allowed := (l.errors + slack) * f.se()
		m.Holds = m.Reached <= l.bound+allowed
		if l.atLeast {
			m.Holds = m.Reached >= l.bound-allowed
		}
		out[i] = m
	}
	return out
}

// Replicates is how many replicates the claim takes under the options.
func (c Claim) Replicates(o Options) int {
	if c.Costly {
		return min(o.Replicates, max(o.Replicates/10, CostlyFloor))
	}
	return o.Replicates
}

func (l limit) String() string {
	sign, allowance := "≤", "+"
	if l.atLeast {
		sign, allowance = "≥", "−"
	}
	text := fmt.Sprintf("%s %g %%", sign, math.Round(1e6*l.bound)/1e4)
	if l.number {
		text = fmt.Sprintf("%s %g", sign, l.bound)
	}
	if l.errors > 0 {
		text += fmt.Sprintf(" %s %g SE", allowance, l.errors)
	}
	return text
}

// starLimits bounds the rates of "*", "**" and "***".
func starLimits(one, two, three float64) []limit {
	return []limit{
		{figure: 0, what: "*", bound: one},
		{figure: 1, what: "**", bound: two},
		{figure: 2, what: "***", bound: three},
	}
}

// Claims returns everything that is claimed, in the order of the table.
func Claims() []Claim {
	var claims []Claim
	claims = append(claims, starClaims()...)
	claims = append(claims, verdictClaims()...)
	claims = append(claims, coverageClaims()...)
	claims = append(claims, costClaims()...)
	claims = append(claims, rollUpClaims()...)
	claims = append(claims, Claim{
		Name: "six attempts on an unchanged benchmark", limits: []limit{{what: "any star", bound: 0.098}},
		run: func(o Options, id uint64) []figure { return attempts(o, id, 6) },
	})
	return append(claims, failingClaims()...)
}

var (
	adaptive = stats.Design{Looks: stats.DefaultLooks()}
	fixed30  = stats.Design{Runs: 30, Analysis: stats.Welch}
	fixed100 = stats.Design{Runs: 100, Analysis: stats.Welch}
)

func stars(name string, d stats.Design, b benchmark, limits []limit) Claim {
	return Claim{Name: name, limits: limits, run: func(o Options, id uint64) []figure { return starRates(o, id, d, b) }}
}

// starClaims are about stars on an unchanged benchmark.
func starClaims() []Claim {
	var out []Claim
	for _, noise := range allNoise() {
		out = append(out, stars("A/A, adaptive, "+noise.Name, adaptive, benchmark{noise: noise, cv: 0.03}, starLimits(0.053, 0.011, 0.0012)))
	}
	out = append(out, stars("A/A, adaptive, period 2 at 2σ", adaptive, benchmark{noise: PeriodTwo("", 2), cv: 0.03}, starLimits(0.055, 1, 1)[:1]))
	for _, noise := range allNoise() {
		limits := starLimits(0.053, 0.011, 0.0012)
		if noise.Name == "period 2 at ½σ" {
			limits = starLimits(0.06, 1, 1)[:1]
		}
		out = append(out, stars("A/A, fixed 30, Welch, "+noise.Name, fixed30, benchmark{noise: noise, cv: 0.03}, limits))
	}
	for _, noise := range []Noise{Lognormal, Exponential} {
		out = append(out, stars("A/A, adaptive, "+noise.Name+" × 3:1 SD", adaptive, benchmark{noise: noise, cv: 0.03, newSpread: 3}, []limit{
			{figure: 0, what: "*", bound: 0.08},
			{figure: 3, what: "* for the better", bound: 0.07},
			{figure: 4, what: "* for the worse", bound: 0.07},
			{figure: 2, what: "***", bound: 0.007},
		}))
	}
	return out
}

// verdictClaims are about verdicts that exclude the truth.
func verdictClaims() []Claim {
	var out []Claim
	for _, benchmarks := range []int{1, 10} {
		for _, improvement := range []float64{0, -0.02, +0.02} {
			for _, cv := range []float64{0.005, 0.03} {
				limits := []limit{{figure: 0, what: "any false verdict", bound: 0.05, errors: 2}}
				if improvement < 0 {
					limits = append(limits, limit{figure: 1, what: "no-worse or better", bound: 0.025, errors: 2})
				}
				out = append(out, Claim{
					Name:   fmt.Sprintf("all looks, %d a case, true change %s, cv %g %%", benchmarks, truth(improvement), 100*cv),
					Costly: benchmarks > 1,
					limits: limits,
					run: func(o Options, id uint64) []figure {
						return falseVerdicts(o, id, adaptive, benchmark{noise: Normal, cv: cv, improvement: improvement}, benchmarks)
					},
				})
			}
		}
	}
	return out
}

// truth is an improvement for the name of a claim.
func truth(improvement float64) string {
	sign := ""
	switch {
	case improvement > 0:
		sign = "+"
	case improvement < 0:
		sign = "−"
	}
	return fmt.Sprintf("%s%g %%", sign, 100*math.Abs(improvement))
}

// coverageClaims are about the verdict's interval, far from no change too.
func coverageClaims() []Claim {
	var out []Claim
	for _, d := range []stats.Design{fixed30, adaptive} {
		name := "fixed 30, Welch"
		if d.Adaptive() {
			name = "adaptive"
		}
		for _, ratio := range []float64{0.5, 0.8, 1, 1.25, 2, 4} {
			out = append(out, Claim{
				Name:   fmt.Sprintf("coverage, %s, new/old = %g, equal cv", name, ratio),
				limits: []limit{{what: "covered", bound: 0.945, atLeast: true}},
				run: func(o Options, id uint64) []figure {
					return coverage(o, id, d, benchmark{noise: Normal, cv: 0.05, improvement: 1 - ratio})
				},
			})
		}
	}
	return out
}

// costClaims are about the pairs that a case takes.
func costClaims() []Claim {
	claim := func(name string, d stats.Design, correlation float64, limits ...limit) Claim {
		return Claim{Name: name, limits: limits, run: func(o Options, id uint64) []figure { return cost(o, id, d, correlation) }}
	}
	pairs := func(bound float64) limit { return limit{figure: 0, what: "mean pairs", bound: bound, number: true} }
	resolved := func(bound float64) limit { return limit{figure: 1, what: "resolved", bound: bound, atLeast: true} }
	claims := []Claim{
		claim("cost, adaptive, ρ = 0", adaptive, 0, pairs(39), resolved(0.885)),
		claim("cost, adaptive, ρ = 0.5", adaptive, 0.5, pairs(31), resolved(0.93)),
		claim("cost, fixed 100, Welch", fixed100, 0, pairs(100), resolved(0.90)),
	}
	for i := range claims {
		claims[i].Note = "The mean number of pairs depends on what is measured: one benchmark a case, a cv log-uniform from 0.3 to 6 %, " +
			"80 % unchanged and the others changed by −5, −2, +2 or +5 % with equal chances. A change of exactly the margin is never resolved by the margin, " +
			"so that a population with more of those costs more."
	}
	return claims
}
