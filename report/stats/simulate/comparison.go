package simulate

import (
	"math"
	"math/rand/v2"

	"github.com/prbench/prbench/report/stats"
)

// mean is the true old mean; its unit does not matter.
const mean = 100

// A benchmark is what is true of one benchmark.
type benchmark struct {
	noise       Noise
	cv          float64 // of the old side
	improvement float64
	newSpread   float64 // standard deviation of the new side as a multiple of the old one's; 0 means equal cv
	correlation float64 // within a pair, of otherwise independent noise
	fixedOrder  bool    // old before new in every pair, in place of a random order
	better      stats.Better

	// residuals, where there are any, are the relative deviations of measured
	// pairs, drawn from in place of noise, cv, newSpread and correlation.
	residuals [][2]float64
}

// A source draws the pairs of one benchmark, one after the other.
type source struct {
	rng  *rand.Rand
	b    benchmark
	next func() float64
	in   stats.Input
}

// begin starts a comparison of the planned number of pairs.
func (s *source) begin(rng *rand.Rand, b benchmark, planned int) {
	s.rng, s.b = rng, b
	if b.residuals == nil {
		s.next = b.noise.start(rng, 2*planned)
	}
	s.in.Old, s.in.New = s.in.Old[:0], s.in.New[:0]
	s.in.Better = b.better
	if b.better == 0 {
		s.in.Better = stats.LowerIsBetter // a rate could be drawn below zero
	}
}

// upTo draws pairs until there are n, and returns all of them.
func (s *source) upTo(n int) stats.Input {
	newMean := mean * (1 + float64(s.in.Better)*s.b.improvement)
	oldSD, newSD := mean*s.b.cv, newMean*s.b.cv
	if s.b.newSpread != 0 {
		newSD = oldSD * s.b.newSpread
	}
	for len(s.in.Old) < n && s.b.residuals != nil {
		pair := s.b.residuals[s.rng.IntN(len(s.b.residuals))]
		s.in.Old = append(s.in.Old, mean*(1+pair[0]))
		s.in.New = append(s.in.New, newMean*(1+pair[1]))
	}
	own, shared := math.Sqrt(1-s.b.correlation), math.Sqrt(s.b.correlation)
	for len(s.in.Old) < n {
		first, second := s.next(), s.next()
		if s.b.correlation > 0 {
			common := shared * s.next()
			first, second = own*first+common, own*second+common
		}
		if !s.b.fixedOrder && s.rng.Uint64()&1 == 0 {
			first, second = second, first
		}
		s.in.Old = append(s.in.Old, mean+oldSD*first)
		s.in.New = append(s.in.New, newMean+newSD*second)
	}
	return s.in
}
