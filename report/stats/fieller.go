package stats

import "math"

// interval returns {δ : |G(δ)| ≤ c(δ)} at level p (Fieller's, for Welch; its
// paired form otherwise).
//
// Where the old mean is not clearly above zero, the set reaches infinity or
// falls into pieces; the result is then the smallest interval around the part
// of it with r ≥ 0, which is all that two positive means can have.
func (c contrast) interval(p float64) [2]float64 {
	up, down := c.reach(p)
	change := c.difference / c.oldMean
	if math.IsInf(up, 1) || math.IsInf(down, 1) {
		up = math.Inf(1)
		down = c.lowestFrom(p, change)
	}
	lo, hi := change-down, change+up
	if c.sigma < 0 {
		lo, hi = -hi, -lo
	}
	return [2]float64{lo, hi}
}

// reach returns how far x = r − 1 may go up and down from the estimate before
// |G| leaves the critical value for good.
func (c contrast) reach(p float64) (up, down float64) {
	if c.freedom != 0 {
		crit := criticalT(p, c.freedom)
		return c.reachAt(+1, crit), c.reachAt(-1, crit)
	}
	// Welch's degrees of freedom change on the way. Between the reaches with
	// the smallest and the largest critical value lies the true one.
	least, most := criticalT(p, c.freeOld+c.freeNew), criticalT(p, math.Min(c.freeOld, c.freeNew))
	return c.reachBetween(+1, p, least, most), c.reachBetween(-1, p, least, most)
}

// reachBetween is reach in one direction (+1 up, −1 down).
func (c contrast) reachBetween(direction, p, least, most float64) float64 {
	inner, outer := c.reachAt(direction, least), c.reachAt(direction, most)
	if math.IsInf(outer, 1) && !c.oldTouchesZero(p) {
		outer = c.farReach(direction, p, inner)
	}
	if math.IsInf(outer, 1) || inner == outer {
		return outer
	}
	return c.lastInside(direction, p, inner, outer)
}

// reachAt solves for a constant critical value: the larger root u of
// (u·ō − tick)² = crit²·v(x₀ ± u), a parabola in u.
func (c contrast) reachAt(direction, crit float64) float64 {
	x0 := c.difference / c.oldMean
	k := crit * crit
	w0 := k * c.variance(x0)
	w1 := direction * k * (c.v1 + c.v2*x0)
	a := c.oldMean*c.oldMean - k*c.v2
	if a <= 0 {
		return math.Inf(1)
	}
	half := c.tick*c.oldMean + w1
	constant := c.tick*c.tick - w0
	root := math.Sqrt(math.Max(0, half*half-a*constant))
	if half >= 0 {
		return (half + root) / a
	}
	// The same root without the difference of two near numbers.
	return -constant / (root - half)
}

// farReach finds a finite bound beyond which nothing lies inside, where the
// largest critical value gives none but the one at infinity does.
func (c contrast) farReach(direction, p, inner float64) float64 {
	u := math.Max(inner, 1)
	for range 200 {
		u *= 2
		x := c.difference/c.oldMean + direction*u
		// Far out the critical value rises to that of the old side alone, so
		// it is that one which must be exceeded, here and beyond.
		if c.distanceOver(x) > criticalT(p, c.freeOld) {
			return u
		}
	}
	return math.Inf(1)
}

func (c contrast) distanceOver(x float64) float64 {
	return (math.Abs(c.difference-x*c.oldMean) - c.tick) / math.Sqrt(c.variance(x))
}

// inside is positive where x is in the set, negative outside, and smooth
// between: the logarithm of how far the tail at x exceeds the level.
func (c contrast) inside(x, p float64) float64 {
	return logTailT(math.Max(0, c.distanceOver(x)), c.df(x)) - math.Log(p)
}

// scanSteps is the number of places at which a set that may have gaps is
// looked at.
const scanSteps = 256

// lastInside returns the outermost u between inner and outer that is inside.
func (c contrast) lastInside(direction, p, inner, outer float64) float64 {
	x0 := c.difference / c.oldMean
	f := func(u float64) float64 { return c.inside(x0+direction*u, p) }
	lo, hi := inner, outer
	// Where the two bounds are close there is one crossing; elsewhere a scan
	// from outside finds the last.
	if outer > 1.5*inner {
		for i := 1.0; i <= scanSteps; i++ {
			u := outer - (outer-inner)*i/scanSteps
			if f(u) >= 0 {
				lo = u
				break
			}
			hi = u
		}
	}
	return crossing(f, lo, hi)
}

// lowestFrom returns how far down from the estimate the set reaches, not
// below r = 0, where it is open above.
func (c contrast) lowestFrom(p, estimate float64) float64 {
	f := func(r float64) float64 { return c.inside(r-1, p) }
	if f(0) >= 0 {
		return estimate + 1
	}
	outside, inside := 0.0, 1+estimate
	for i := 1.0; i <= scanSteps; i++ {
		r := (1 + estimate) * i / scanSteps
		if f(r) >= 0 {
			inside = r
			break
		}
		outside = r
	}
	return 1 + estimate - crossing(f, inside, outside)
}

// crossing returns where f, positive at in and negative at out, changes its
// sign: regula falsi that halves the weight of an end that stays (Illinois).
func crossing(f func(float64) float64, in, out float64) float64 {
	fIn, fOut := f(in), f(out)
	if fIn <= 0 {
		return in
	}
	if fOut >= 0 {
		return out
	}
	stayed := 0
	for range 200 {
		mid := (in*fOut - out*fIn) / (fOut - fIn)
		if low, high := math.Min(in, out), math.Max(in, out); !(mid > low && mid < high) {
			mid = in + (out-in)/2
		}
		if math.Abs(out-in) <= 4*epsilon*math.Abs(out) || mid == in || mid == out {
			break
		}
		fMid := f(mid)
		switch {
		case fMid == 0:
			return mid
		case fMid > 0:
			in, fIn = mid, fMid
			if stayed > 0 {
				fOut /= 2
			}
			stayed = +1
		default:
			out, fOut = mid, fMid
			if stayed < 0 {
				fIn /= 2
			}
			stayed = -1
		}
	}
	return in
}
