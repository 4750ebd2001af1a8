package stats

import "math"

// A contrast measures how far the data are from an improvement δ:
//
//	G(δ) = σ·(n̄ − r·ō) / √v(r),  r = 1 + σδ
//
// In x = r − 1 = σδ the numerator is difference − x·ō and the variance the
// parabola v0 + 2·v1·x + v2·x². Everything is in one unit; which one does not
// matter.
type contrast struct {
	sigma      float64
	oldMean    float64 // positive
	difference float64 // n̄ − ō
	v0, v1, v2 float64
	tick       float64 // allowed for in G; zero unless the resolution is low

	// Degrees of freedom: those of Welch where freedom is zero.
	freedom          float64
	vOld, vNew       float64 // variances of the means
	freeOld, freeNew float64 // n−1
}

// welchContrast treats the sides as independent.
func welchContrast(old, new []float64, sigma float64) contrast {
	mo, mn := momentsOf(old), momentsOf(new)
	vo, vn := mo.meanVariance(), mn.meanVariance()
	return contrast{
		sigma: sigma, oldMean: mo.mean, difference: meanDifference(old, new),
		v0: vo + vn, v1: vo, v2: vo,
		vOld: vo, vNew: vn, freeOld: float64(mo.n - 1), freeNew: float64(mn.n - 1),
	}
}

// pairedContrast works on d_i = new_i − r·old_i.
func pairedContrast(old, new []float64, sigma float64) contrast {
	n := float64(len(old))
	mo := momentsOf(old)
	first := new[0] - old[0] // the shift, as in momentsOf
	var sum float64
	for i, o := range old {
		sum += (new[i] - o) - first
	}
	shift := sum / n
	var ss, rest, cross float64
	for i, o := range old {
		d := ((new[i] - o) - first) - shift
		ss += d * d
		rest += d
		cross += d * (o - mo.mean)
	}
	variance := math.Max(0, ss-rest*rest/n) / (n - 1) / n
	return contrast{
		sigma: sigma, oldMean: mo.mean, difference: first + (shift + rest/n),
		v0: variance, v1: -cross / (n - 1) / n, v2: mo.meanVariance(),
		freedom: n - 1, vOld: mo.meanVariance(), freeOld: n - 1,
	}
}

// printedContrast is all that a printed table gives: an improvement and its
// relative standard error. The variance is taken as constant.
func printedContrast(improvement, relativeSE, df float64) contrast {
	return contrast{sigma: 1, oldMean: 1, difference: improvement, v0: relativeSE * relativeSE, freedom: df}
}

func (c contrast) variance(x float64) float64 {
	return math.Max(0, c.v0+x*(2*c.v1+x*c.v2))
}

// df returns the degrees of freedom at x: Welch's, with r²·v_o for v_o.
func (c contrast) df(x float64) float64 {
	if c.freedom != 0 {
		return c.freedom
	}
	r := 1 + x
	return welchDF(r*r*c.vOld, c.vNew, c.freeOld, c.freeNew)
}

func welchDF(vOld, vNew, freeOld, freeNew float64) float64 {
	total := vOld + vNew
	// In shares of the total, so that nothing overflows or vanishes.
	a, b := vOld/total, vNew/total
	return 1 / (a*a/freeOld + b*b/freeNew)
}

// g returns G at an improvement.
func (c contrast) g(improvement float64) float64 {
	x := c.sigma * improvement
	distance := c.difference - x*c.oldMean
	beyond := math.Max(0, math.Abs(distance)-c.tick)
	return c.sigma * math.Copysign(beyond, distance) / math.Sqrt(c.variance(x))
}

// oldTouchesZero reports whether the old mean's own interval reaches 0, with
// the critical value that G has far out, where the old side is all that counts.
func (c contrast) oldTouchesZero(p float64) bool {
	if c.freeOld == 0 { // a printed table does not tell
		return false
	}
	return c.oldMean <= criticalT(p, c.freeOld)*math.Sqrt(c.vOld)
}
