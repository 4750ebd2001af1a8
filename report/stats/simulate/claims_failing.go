package simulate

import "fmt"

// noted gives a claim its note.
func noted(c Claim, note string) Claim {
	c.Note = note
	return c
}

// refuted marks a claim that is known not to hold.
func refuted(c Claim, why string) Claim {
	c.Note, c.Refuted = why, true
	return c
}

// failingClaims show what the rules are for: what happens where one is broken.
// Their figures are lower bounds on an error rate.
func failingClaims() []Claim {
	rate := func(bound float64) []limit {
		return []limit{{what: "* (shown failing)", bound: bound, atLeast: true}}
	}
	welch := func(shift float64, stated float64, theory string) Claim {
		return refuted(
			stars(fmt.Sprintf("fixed 30, Welch, second run of a pair differs by %gσ: why pairs are compared as pairs", shift), fixed30,
				benchmark{noise: PeriodTwo("", shift), cv: 0.03}, rate(stated)),
			fmt.Sprintf("Welch's test is too liberal here, but less so than was said before it was simulated (%g %%). In theory it is %s: "+
				"the shift adds its square to the variance of a pair's difference, of which the test sees half.", 100*stated, theory))
	}
	return []Claim{
		{
			Name: "fixed old-new order, period 2 at ½σ, 30 runs: why the order is random", limits: rate(0.45),
			run: func(o Options, id uint64) []figure {
				return starRates(o, id, fixed30, benchmark{noise: PeriodTwo("", 0.5), cv: 0.03, fixedOrder: true})
			},
		},
		{
			Name: "a test at 5 % every ten runs to 100: why the looks are planned", limits: rate(0.19),
			run: unadjustedLooks,
		},
		welch(1, 0.083, "7.4 %"),
		welch(2, 0.146, "10.9 %"),
	}
}
