package stats

import (
	"fmt"
	"math"
	"slices"
	"sync"

	"gonum.org/v1/gonum/integrate/quad"
)

// Boundary returns the nominal two-sided p-values at which an adaptive
// comparison tests at each of its looks, so that the chance of any crossing
// over all looks is alpha where nothing differs.
//
// The level spent up to the fraction t of the planned pairs is alpha·t²
// (Lan and DeMets, Biometrika 70, 1983); the values follow by the recursive
// numerical integration of Armitage, McPherson and Rowe (JRSS A 132, 1969).
// It panics where ValidateLooks fails or alpha is not in (0, 1). The result
// is the caller's own.
func Boundary(looks []int, alpha float64) []float64 {
	return slices.Clone(cachedBoundary(looks, alpha))
}

// boundaries remembers what was computed; a comparison of hundreds of
// benchmarks asks for the same five. It is emptied when it grows.
var boundaries = struct {
	sync.Mutex
	byPlan map[string][]float64
}{byPlan: map[string][]float64{}}

const maxCachedBoundaries = 512

func cachedBoundary(looks []int, alpha float64) []float64 {
	key := fmt.Sprint(looks, math.Float64bits(alpha))
	boundaries.Lock()
	defer boundaries.Unlock()
	if p, ok := boundaries.byPlan[key]; ok {
		return p
	}
	if err := ValidateLooks(looks); err != nil {
		panic("stats: " + err.Error())
	}
	if !(alpha > 0 && alpha < 1) {
		panic(fmt.Sprintf("stats: a boundary at level %v", alpha))
	}
	p := spend(looks, alpha)
	if len(boundaries.byPlan) >= maxCachedBoundaries {
		clear(boundaries.byPlan)
	}
	boundaries.byPlan[key] = p
	return p
}

// spend computes what Boundary documents.
func spend(looks []int, alpha float64) []float64 {
	last := float64(looks[len(looks)-1])
	var walk survivors
	nominal := make([]float64, len(looks))
	spent, before := 0.0, 0.0
	for k, n := range looks {
		t := float64(n) / last
		increment := alpha*t*t - spent
		spent = alpha * t * t
		z := walk.crossingAt(t, before, increment)
		nominal[k] = math.Exp(logTailNormal(z))
		if k+1 < len(looks) {
			walk = walk.advance(t, before, z, float64(looks[k+1])/last-t)
		}
		before = t
	}
	return nominal
}

// survivors is the density of a Brownian motion that has stayed inside the
// boundary so far, at the nodes of a quadrature: mass[i] is density × weight.
// The zero value is the motion before its first look, at 0 with certainty.
type survivors struct {
	at, mass []float64
}

// outside returns the probability of being beyond ±b after a further time dt,
// and the density at +b.
func (s survivors) outside(b, dt float64) (probability, density float64) {
	if s.at == nil {
		sd := math.Sqrt(dt)
		return 2 * normalUpper(b/sd), normalDensity(b/sd) / sd
	}
	sd := math.Sqrt(dt)
	for i, x := range s.at {
		z := (b - x) / sd
		probability += s.mass[i] * normalUpper(z)
		density += s.mass[i] * normalDensity(z) / sd
	}
	return 2 * probability, density // both tails: the density is even
}

// crossingAt returns the z beyond which, at time t, just the given probability
// lies. Newton's method on its logarithm, which is concave in z.
func (s survivors) crossingAt(t, before, probability float64) float64 {
	z := normalTwoSided(math.Log(probability))
	for range 100 {
		p, density := s.outside(z*math.Sqrt(t), t-before)
		step := p / (2 * density * math.Sqrt(t)) * math.Log(p/probability)
		z = math.Max(z+math.Max(-1, math.Min(1, step)), 0)
		if math.Abs(step) < 1e-13 {
			break
		}
	}
	return z
}

// advance carries the density to time t and cuts it off beyond ±z·√t. The
// nodes are close enough for the step that follows, of variance next.
func (s survivors) advance(t, before, z, next float64) survivors {
	b := z * math.Sqrt(t)
	n := int(math.Min(48+6*b/math.Sqrt(math.Min(next, t-before)), 4096))
	at, weight := make([]float64, n), make([]float64, n)
	quad.Legendre{}.FixedLocations(at, weight, -b, b)
	sd := math.Sqrt(t - before)
	mass := make([]float64, n)
	for i, x := range at {
		density := 0.0
		if s.at == nil {
			density = normalDensity(x/sd) / sd
		}
		for j, y := range s.at {
			if u := (x - y) / sd; math.Abs(u) < 39 {
				density += s.mass[j] * normalDensity(u) / sd
			}
		}
		mass[i] = density * weight[i]
	}
	return survivors{at: at, mass: mass}
}

func normalDensity(z float64) float64 {
	return math.Exp(-z*z/2) / math.Sqrt(2*math.Pi)
}

// MoreLooks plans the looks of "more runs": the given ones, then on to four
// times the largest in steps of a constant ratio, the usual one of about 1.6,
// as far as ValidateLooks allows.
func MoreLooks(looks []int) []int {
	out := slices.Clone(looks)
	last := looks[len(looks)-1]
	for step := 1; step <= 3; step++ {
		if n := int(math.Round(float64(last) * math.Pow(4, float64(step)/3))); n <= MaxPairs {
			out = append(out, n)
		}
	}
	return out[max(0, len(out)-MaxLooks):]
}
