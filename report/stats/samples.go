package stats

import (
	"math"
	"slices"
)

// usable is the samples of an Input that a comparison works on, in a scale in
// which their squares exist, and what was left out.
type usable struct {
	old, new []float64
	scale    float64 // one unit here is this many of the benchmark's

	unusableOld, unusableNew []int // 1-based runs
	look, reached, unjudged  int

	// The same samples in order of size, once order has been called: sorting is
	// what a comparison takes longest for.
	orderedOld, orderedNew []float64
}

func (u *usable) order() {
	u.orderedOld, u.orderedNew = slices.Clone(u.old), slices.Clone(u.new)
	slices.Sort(u.orderedOld)
	slices.Sort(u.orderedNew)
}

// attempted returns the number of pairs that were attempted. A benchmark that
// exists on one side only was attempted as often as that side was.
func (in Input) attempted() int {
	if len(in.Old) == 0 || len(in.New) == 0 {
		return max(len(in.Old), len(in.New))
	}
	return min(len(in.Old), len(in.New))
}

func (in Input) sigma() float64 {
	if in.Better == LowerIsBetter {
		return -1
	}
	return +1
}

// good reports whether a sample can be used. A rate (a value where higher is
// better, and that is no count) cannot be zero or negative, a time not
// negative.
func (in Input) good(x float64) bool {
	switch {
	case !(x-x == 0): // NaN or infinite
		return false
	case in.Time:
		return x >= 0
	case in.Better != LowerIsBetter && !in.Count:
		return x > 0
	}
	return true
}

// judged cuts the samples at the last completed look and leaves out what is
// not usable: single samples, or both of a pair.
func (in Input) judged(d Design) usable {
	var u usable
	old, new := in.Old, in.New
	if d.Adaptive() || d.Analysis == Paired {
		cut := in.attempted()
		if d.Adaptive() {
			all := cut
			for k, n := range d.Looks {
				if n <= all {
					u.look, u.reached = k+1, n
				}
			}
			if u.look > 0 {
				cut = u.reached
			}
			u.unjudged = all - u.reached
		}
		old, new = old[:min(cut, len(old))], new[:min(cut, len(new))]
	}
	u.unusableOld, u.unusableNew = in.bad(old), in.bad(new)
	u.old, u.new = old, new
	if len(u.unusableOld)+len(u.unusableNew) > 0 {
		u.old, u.new = in.keep(old, new, d), in.keep(new, old, d)
	}
	u.scale = powerOfTwoScale(u.old, u.new)
	u.old, u.new = scaled(u.old, u.scale), scaled(u.new, u.scale)
	return u
}

func (in Input) bad(xs []float64) []int {
	var runs []int
	for i, x := range xs {
		if !in.good(x) {
			runs = append(runs, i+1)
		}
	}
	return runs
}

// keep returns the usable samples of one side. In a paired analysis the
// partner must be usable too, unless the other side has none at all.
func (in Input) keep(xs, partners []float64, d Design) []float64 {
	alone := !slices.ContainsFunc(partners, in.good)
	var out []float64
	for i, x := range xs {
		if in.good(x) && (alone || d.Analysis == Welch || in.good(partners[i])) {
			out = append(out, x)
		}
	}
	return out
}

// finerThan reports whether the values surely have a step below the limit: the
// printed resolution is, and so is some difference of neighbours in time. It
// saves the sorting that the smallest gap needs.
func finerThan(old, new []float64, limit, resolution float64) bool {
	if resolution >= limit {
		return false
	}
	for _, xs := range [2][]float64{old, new} {
		for i := 1; i < len(xs); i++ {
			if d := math.Abs(xs[i] - xs[i-1]); d > 0 && d < limit {
				return true
			}
		}
	}
	return false
}

// tick returns the step of the values: the larger of the printed resolution
// and the smallest gap between two of them. NaN where neither is known.
func (u usable) tick(resolution float64) float64 {
	if u.orderedOld == nil {
		u.order()
	}
	a, b := u.orderedOld, u.orderedNew
	gap, last := math.Inf(1), math.NaN()
	for len(a)+len(b) > 0 {
		from := &a
		if len(a) == 0 || len(b) > 0 && b[0] < a[0] {
			from = &b
		}
		x := (*from)[0]
		*from = (*from)[1:]
		if d := x - last; d > 0 && d < gap {
			gap = d
		}
		last = x
	}
	if math.IsInf(gap, 1) {
		gap = 0
	}
	if q := math.Max(gap, resolution); q > 0 {
		return q
	}
	return math.NaN()
}
