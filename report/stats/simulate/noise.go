package simulate

import (
	"math"
	"math/rand/v2"
)

// A Noise is how the runs of a machine vary: a standardised disturbance
// (mean 0, standard deviation 1 or finite) for each run in order of time.
type Noise struct {
	Name string
	// start returns the disturbance of one comparison: it is called once for
	// every run, in order of time, out of a planned number.
	start func(rng *rand.Rand, planned int) func() float64
}

// independent makes a Noise of draws that do not know each other.
func independent(name string, draw func(rng *rand.Rand) float64) Noise {
	return Noise{name, func(rng *rand.Rand, _ int) func() float64 {
		return func() float64 { return draw(rng) }
	}}
}

// The kinds of noise that the claims are about.
var (
	Normal = independent("normal", func(rng *rand.Rand) float64 { return rng.NormFloat64() })

	// Lognormal has a standard deviation of 0.5 on the log scale, a skewness
	// of 1.75.
	Lognormal = independent("lognormal", func(rng *rand.Rand) float64 {
		const s2 = 0.25
		mean, sd := math.Exp(s2/2), math.Sqrt(math.Expm1(s2))*math.Exp(s2/2)
		return (math.Exp(0.5*rng.NormFloat64()) - mean) / sd
	})

	Exponential = independent("exponential", func(rng *rand.Rand) float64 { return rng.ExpFloat64() - 1 })

	// TwoModes is a fast mode in 70 % of the runs and a slow one, five of
	// their own standard deviations apart.
	TwoModes = independent("two modes", func(rng *rand.Rand) float64 {
		const share, apart = 0.7, 5.0
		sd := math.Sqrt(1 + apart*apart*share*(1-share))
		x := rng.NormFloat64() + apart*share
		if rng.Float64() < share {
			x -= apart
		}
		return -x / sd
	})

	// StudentT3 has three degrees of freedom: finite variance, no kurtosis.
	StudentT3 = independent("t₃", func(rng *rand.Rand) float64 {
		var square float64
		for range 3 {
			z := rng.NormFloat64()
			square += z * z
		}
		return rng.NormFloat64() / math.Sqrt(square)
	})

	// Autoregressive remembers half of the run before.
	Autoregressive = Noise{"AR(1)", func(rng *rand.Rand, _ int) func() float64 {
		const rho = 0.5
		x := rng.NormFloat64()
		return func() float64 {
			x = rho*x + math.Sqrt(1-rho*rho)*rng.NormFloat64()
			return x
		}
	}}

	// Drift rises by three standard deviations over the planned runs.
	Drift = Noise{"drift", func(rng *rand.Rand, planned int) func() float64 {
		i := -1
		return func() float64 {
			i++
			return rng.NormFloat64() + 3*float64(i)/float64(planned)
		}
	}}
)

// PeriodTwo shifts every second run by the given number of standard
// deviations: what a cache or a frequency governor does that runs leave in
// turns.
func PeriodTwo(name string, shift float64) Noise {
	return Noise{name, func(rng *rand.Rand, _ int) func() float64 {
		i := 0
		return func() float64 {
			i++
			return rng.NormFloat64() + shift*float64(i%2)
		}
	}}
}

// allNoise is the list of the claims about false stars.
func allNoise() []Noise {
	return []Noise{Normal, Lognormal, Exponential, TwoModes, StudentT3, Autoregressive, Drift, PeriodTwo("period 2 at ½σ", 0.5)}
}
