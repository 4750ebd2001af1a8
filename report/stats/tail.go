package stats

import (
	"math"

	"gonum.org/v1/gonum/mathext"
)

// Hill's normal transformation is exact to rounding from hillDF degrees of
// freedom on, and from hillSmallDF on for |t| below hillSmallT; it is used
// there because the continued fraction needs ever more terms as df grows and
// t shrinks.
const (
	hillDF      = 2e5
	hillSmallDF = 1e4
	hillSmallT  = 12
)

// tailT returns the two-sided p-value of |t| at df degrees of freedom, with a
// relative error near 1e-13 down to the smallest positive float64.
func tailT(t, df float64) float64 { return math.Exp(logTailT(t, df)) }

// logTailT returns the logarithm of tailT, which exists also where tailT
// underflows. It is NaN where either argument is, or df is not positive.
func logTailT(t, df float64) float64 {
	t = math.Abs(t)
	switch {
	case math.IsNaN(t) || !(df > 0):
		return math.NaN()
	case t == 0:
		return 0
	case math.IsInf(t, 1):
		return math.Inf(-1)
	case math.IsInf(df, 1):
		return logTailNormal(t)
	case df > hillDF || (df > hillSmallDF && t < hillSmallT):
		return logTailNormal(hillNormal(t, df))
	}
	return logIncompleteBeta(t, df)
}

// logIncompleteBeta returns ln I_x(df/2, 1/2) at x = df/(df+t²), which is the
// two-sided tail of Student's t.
//
// With y = 1−x the tail is x^a·y^b/(b·B(a,b)) times a continued fraction
// (Abramowitz and Stegun 26.5.8) in whichever of x and y makes it converge.
func logIncompleteBeta(t, df float64) float64 {
	a, b := df/2, 0.5
	ratio := t * t / df // y/x; may overflow for df near 1 and huge t
	logX := -math.Log1p(ratio)
	var logY float64
	if ratio < 1 {
		logY = 2*math.Log(t) - math.Log(df) + logX
	} else {
		logY = -math.Log1p(1 / ratio)
	}
	if math.IsInf(ratio, 1) {
		logX, logY = math.Log(df)-2*math.Log(t), 0
	}
	logFront := a*logX + b*logY - logBetaHalf(a)
	x, y := 1/(1+ratio), ratio/(1+ratio)
	if math.IsInf(ratio, 1) {
		x, y = 0, 1
	}
	if x < (a+1)/(a+b+2) {
		return logFront - math.Log(a) + math.Log(betaFraction(a, b, x))
	}
	return math.Log1p(-math.Exp(logFront-math.Log(b)) * betaFraction(b, a, y))
}

// betaFraction evaluates the continued fraction of the incomplete beta
// function by the modified Lentz method.
func betaFraction(a, b, x float64) float64 {
	const tiny = 1e-300
	guard := func(v float64) float64 {
		if math.Abs(v) < tiny {
			return tiny
		}
		return v
	}
	c, d := 1.0, 1/guard(1-(a+b)*x/(a+1))
	h := d
	for m := 1.0; m < 20_000; m++ {
		even := m * (b - m) * x / ((a + 2*m - 1) * (a + 2*m))
		d = 1 / guard(1+even*d)
		c = guard(1 + even/c)
		h *= d * c
		odd := -(a + m) * (a + b + m) * x / ((a + 2*m) * (a + 2*m + 1))
		d = 1 / guard(1+odd*d)
		c = guard(1 + odd/c)
		step := d * c
		h *= step
		if math.Abs(step-1) < 1e-16 {
			break
		}
	}
	return h
}

// logBetaHalf returns ln B(a, 1/2) = ½·ln π − ln(Γ(a+½)/Γ(a)). The ratio of
// the gamma functions comes from its own asymptotic series: the difference of
// two log-gammas has lost its digits at a = 1e5.
func logBetaHalf(a float64) float64 {
	product := 1.0
	for ; a < 24; a++ {
		product *= a / (a + 0.5)
	}
	i := 1 / a
	i2 := i * i
	series := -i * (1./8 - i2*(1./192-i2*(1./640-i2*(17./14336-i2*(31./18432)))))
	return 0.5*math.Log(math.Pi/a) - series - math.Log(product)
}

// hillNormal returns the normal deviate with the same tail as t at a large df
// (Hill, Communications of the ACM 13, 1970, algorithm 395).
func hillNormal(t, df float64) float64 {
	a := df - 0.5
	b := 48 * a * a
	z2 := a * math.Log1p(t*t/df)
	z := math.Sqrt(z2)
	return z + z*((z2+3)/b-(((4*z2+33)*z2+240)*z2+855)/(10*b*(b+0.8*z2*z2+100)))
}

// logTailNormal returns ln P(|Z| > z) for z ≥ 0.
func logTailNormal(z float64) float64 {
	if z < 25 {
		return math.Log(math.Erfc(z / math.Sqrt2))
	}
	// Mills' ratio: seven terms are exact to rounding from z = 25 on.
	i := 1 / (z * z)
	mills := 1 - i*(1-i*(3-i*(15-i*(105-i*(945-i*10395)))))
	return -z*z/2 - math.Log(z) + 0.5*math.Log(2/math.Pi) + math.Log(mills)
}

// logDensityT returns the logarithm of Student's density at t.
func logDensityT(t, df float64) float64 {
	return -0.5*math.Log(df) - logBetaHalf(df/2) - (df+1)/2*math.Log1p(t*t/df)
}

// criticalT returns the t that |T| exceeds with probability p, two-sided:
// t_{1−p/2, df}. It is exact to a few roundings for any df > 0, fractional or
// huge, and any p in (0, 1]; NaN outside.
func criticalT(p, df float64) float64 { return criticalLogT(math.Log(p), df) }

// criticalLogT is criticalT for a level whose logarithm is given.
func criticalLogT(logP, df float64) float64 {
	switch {
	case math.IsNaN(logP) || logP > 0 || !(df > 0):
		return math.NaN()
	case logP == 0:
		return 0
	case math.IsInf(logP, -1):
		return math.Inf(1)
	case math.IsInf(df, 1):
		return normalTwoSided(logP)
	}
	// Newton's method on ln p against ln t: the curve is concave and nearly
	// straight where the tail is heavy, so it converges from anywhere; the
	// start only saves steps.
	s := math.Log(startT(logP, df))
	for range 100 {
		t := math.Exp(s)
		logTail := logTailT(t, df)
		slope := -2 * math.Exp(s+logDensityT(t, df)-logTail)
		step := (logP - logTail) / slope
		s += math.Max(-2, math.Min(2, step))
		if math.Abs(step) < 1e-15*math.Max(1, math.Abs(s)) {
			break
		}
		if math.Abs(step) < 1e-9 { // quadratic: the next step is below rounding
			break
		}
	}
	return math.Exp(s)
}

// startT is a first guess at criticalLogT.
func startT(logP, df float64) float64 {
	z := normalTwoSided(logP)
	// The inverse of the leading term of Hill's transformation.
	if df > 2 {
		t2 := df * math.Expm1(z*z/(df-0.5))
		if df > 4 && t2 > 0 && !math.IsInf(t2, 1) {
			return math.Sqrt(t2)
		}
	}
	// The leading term of a heavy tail: p ≈ 2·C·t^(−df).
	logC := logDensityT(0, df) + (df+1)/2*math.Log(df) - math.Log(df)
	heavy := math.Exp((math.Ln2 + logC - logP) / df)
	return math.Max(heavy, math.Max(z, 1e-8))
}

// normalTwoSided returns the z with P(|Z| > z) = exp(logP).
func normalTwoSided(logP float64) float64 {
	if logP > -600 {
		return math.Max(-mathext.NormalQuantile(math.Exp(logP)/2), 0)
	}
	return math.Sqrt(-2 * logP)
}

// normalCDF is Φ, with full relative precision in the lower tail.
func normalCDF(z float64) float64 { return 0.5 * math.Erfc(-z/math.Sqrt2) }

// normalUpper is 1 − Φ, with full relative precision in the upper tail.
func normalUpper(z float64) float64 { return 0.5 * math.Erfc(z/math.Sqrt2) }
