package simulate

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/prbench/prbench/report/stats"
)

// The small version of the published table: few replicates, a fixed seed, and
// bounds that allow for four Monte-Carlo standard errors.
func TestTheClaimsHoldInASmallSimulation(t *testing.T) {
	o := Options{Replicates: 800, Seed: 20}
	for _, claim := range Claims() {
		if claim.Refuted {
			continue
		}
		o := o
		if claim.Costly {
			o.Replicates = 80
		}
		for _, m := range claim.Check(o, 4) {
			if !m.Holds {
				t.Errorf("%s: %s: reached %.4f ± %.4f, want %s", m.Claim, m.What, m.Reached, m.Error, m.Target)
			}
		}
	}
}

// A simulation that cannot fail shows nothing: each of these breaks a rule
// that the statistics keep, and must be caught.
func TestTheSimulationSeesBrokenRules(t *testing.T) {
	o := Options{Replicates: 1500, Seed: 2}
	unadjusted := unadjustedLooks(o, 1)[0]
	// Testing every ten runs at an unadjusted level: 19.6 % false stars.
	if math.Abs(unadjusted.mean()-0.196) > 0.04 {
		t.Errorf("unadjusted looks give %.3f false stars, want 0.196", unadjusted.mean())
	}

	fixedOrder := starRates(o, 2, fixed30, benchmark{noise: PeriodTwo("", 0.5), cv: 0.03, fixedOrder: true})[0]
	if fixedOrder.mean() < 0.4 {
		t.Errorf("the fixed order gives %.3f false stars, want about 0.48", fixedOrder.mean())
	}

	// Where the second run of a pair differs by 2σ, the standard error of the
	// difference is √(6/n) and Welch's is √(4/n): P(|Z| > 1.96·√(4/6)) = 10.9 %.
	welch := starRates(o, 3, fixed30, benchmark{noise: PeriodTwo("", 2), cv: 0.03})[0]
	if math.Abs(welch.mean()-0.109) > 0.03 {
		t.Errorf("Welch with a second run that differs by 2σ gives %.3f false stars, want 0.109", welch.mean())
	}
}

func TestFiguresDependOnTheSeedAndNotOnTheWorkers(t *testing.T) {
	claim := Claims()[0]
	one := claim.Check(Options{Replicates: 1700, Seed: 5, Workers: 1}, 0)
	three := claim.Check(Options{Replicates: 1700, Seed: 5, Workers: 3}, 0)
	other := claim.Check(Options{Replicates: 1700, Seed: 6, Workers: 3}, 0)
	if one[0] != three[0] {
		t.Errorf("one worker reached %v, three %v", one[0], three[0])
	}
	if one[0].Reached == other[0].Reached && one[1].Reached == other[1].Reached {
		t.Errorf("two seeds gave the same figures: %v", one)
	}
}

func TestNoiseIsStandardised(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, noise := range []Noise{Normal, Lognormal, Exponential, TwoModes, Autoregressive} {
		next := noise.start(rng, 1)
		var f figure
		for range 60_000 {
			f.add(next())
		}
		if sd := f.se() * math.Sqrt(float64(f.n)); math.Abs(f.mean()) > 0.02 || math.Abs(sd-1) > 0.02 {
			t.Errorf("%s: mean %.3f, standard deviation %.3f", noise.Name, f.mean(), sd)
		}
	}
}

func TestTheTableSaysWhatDoesNotHold(t *testing.T) {
	constant := func(x float64) func(Options, uint64) []figure {
		return func(o Options, _ uint64) []figure {
			return tally(o, 1, 1, func() func(*rand.Rand, []figure) {
				return func(_ *rand.Rand, into []figure) { into[0].add(x) }
			})
		}
	}
	claims := []Claim{
		{Name: "holds", limits: []limit{{what: "rate", bound: 0.05}}, run: constant(0.04)},
		{Name: "fails", limits: []limit{{what: "pairs", bound: 39, number: true}}, run: constant(40)},
		{Name: "once said", Note: "It was measured otherwise.", Refuted: true, limits: []limit{{what: "rate", bound: 0.5, atLeast: true}}, run: constant(0.4)},
		{Name: "power", Note: "Mind the cv.", limits: []limit{{what: "rate", bound: 0.9, atLeast: true, errors: 2}}, run: constant(0.95)},
	}
	var out strings.Builder
	var order []int
	failed, err := WriteTable(&out, claims, Options{Replicates: 1000, Seed: 1, Progress: func(i int) { order = append(order, i) }}, 0)
	if err != nil || failed != 1 {
		t.Fatalf("failed %d, error %v", failed, err)
	}
	if len(order) != len(claims) || order[3] != 3 {
		t.Errorf("progress was told as %v", order)
	}
	const want = `1000 replicates, seed 1

| claim | figure to reach | reached | Monte-Carlo error | |
|---|---|---|---|---|
| holds: rate | ≤ 5 % | 4.000 % | 0.000 % | yes |
| fails: pairs | ≤ 39 | 40.00 | 0.00 | **not reached** |
| once said: rate | ≥ 50 % | 40.000 % | 0.000 % | **not reached** (1) |
| power: rate | ≥ 90 % − 2 SE | 95.000 % | 0.000 % | yes (2) |

(1) It was measured otherwise.

(2) Mind the cv.
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

func BenchmarkAdaptiveAA(b *testing.B) {
	judge, s := stats.NewJudge(adaptive), source{}
	rng := rand.New(rand.NewPCG(1, 1))
	for b.Loop() {
		s.begin(rng, benchmark{noise: Normal, cv: 0.03}, 100)
		for _, n := range adaptive.Looks {
			judge.Decide(s.upTo(n))
		}
	}
}
