package benchfmt

import (
	"math"
	"math/bits"
	"strconv"
	"strings"
)

// A scale is a power of ten, kept as its exponent so that decimal numbers can
// be scaled without a rounding of their own.
type scale int

// apply scales v by one correctly rounded operation.
func (s scale) apply(v float64) float64 {
	switch {
	case s == 0:
		return v
	case s > 0:
		return v * math.Pow10(int(s))
	default:
		return v / math.Pow10(-int(s))
	}
}

// parseNumber reads a decimal number with optional sign and exponent, scaled by
// a power of ten. ok is false for anything else; nan and inf come back as such
// with ok true.
func parseNumber(b []byte, by scale) (v float64, ok bool) {
	i, neg := 0, false
	if i < len(b) && (b[i] == '-' || b[i] == '+') {
		neg = b[i] == '-'
		i++
	}
	var mant uint64
	digits, frac := 0, 0
	for ; i < len(b); i++ {
		d := b[i] - '0'
		if d > 9 {
			break
		}
		mant = mant*10 + uint64(d)
		digits++
	}
	if i < len(b) && b[i] == '.' {
		for i++; i < len(b); i++ {
			d := b[i] - '0'
			if d > 9 {
				break
			}
			mant = mant*10 + uint64(d)
			digits++
			frac++
		}
	}
	exp := 0
	if i < len(b) && digits > 0 && (b[i] == 'e' || b[i] == 'E') {
		exp, i = smallExponent(b, i+1)
	}
	if i == len(b) && 0 < digits && digits <= 19 {
		if v, ok := decimal(mant, exp+int(by)-frac); ok {
			if neg {
				v = -v
			}
			return v, true
		}
	}
	return parseSlow(b, by)
}

// smallExponent reads an exponent of up to three digits that ends b, and gives
// it with len(b), or 0 and the place of the e when it is something else.
func smallExponent(b []byte, i int) (exp, end int) {
	at, neg := i-1, false
	if i < len(b) && (b[i] == '-' || b[i] == '+') {
		neg = b[i] == '-'
		i++
	}
	if i == len(b) || len(b)-i > 3 {
		return 0, at
	}
	for ; i < len(b); i++ {
		d := b[i] - '0'
		if d > 9 {
			return 0, at
		}
		exp = 10*exp + int(d)
	}
	if neg {
		exp = -exp
	}
	return exp, len(b)
}

// decimal gives mant·10^exp rounded to nearest even, for the exponents that it
// can do exactly.
func decimal(mant uint64, exp int) (v float64, ok bool) {
	switch {
	case exp < -22 || exp > 22:
		return 0, false
	case mant < 1<<53:
		// Both factors are exact, so that one operation rounds correctly.
		if exp < 0 {
			return float64(mant) / pow10[-exp], true
		}
		return float64(mant) * pow10[exp], true
	case exp < -19 || exp >= 0:
		return 0, false
	}
	// Both scaled to 64 bits, the quotient has at least 62 bits. The remainder
	// goes into its last bit, which is below what is rounded, so that the
	// conversion rounds as if it saw all of it.
	y := uint64Pow10[-exp]
	zm, zy := bits.LeadingZeros64(mant), bits.LeadingZeros64(y)
	m := mant << zm
	q, rem := bits.Div64(m>>1, m<<63, y<<zy)
	if rem != 0 {
		q |= 1
	}
	return float64(q) * math.Float64frombits(uint64(1023-63+zy-zm)<<52), true
}

var uint64Pow10 = func() (p [20]uint64) {
	p[0] = 1
	for i := 1; i < len(p); i++ {
		p[i] = 10 * p[i-1]
	}
	return p
}()

var pow10 = [...]float64{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11,
	1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22}

func parseSlow(b []byte, by scale) (float64, bool) {
	if len(b) == 0 || len(b) > 400 {
		return 0, false
	}
	for _, c := range b {
		if c == '_' || c == 'x' || c == 'X' || c == 'p' || c == 'P' {
			return 0, false
		}
	}
	if by != 0 {
		return parseScaled(string(b), by)
	}
	v, err := strconv.ParseFloat(string(b), 64)
	if err != nil && !math.IsInf(v, 0) {
		return 0, false
	}
	return v, true
}

// parseScaled moves the decimal exponent in the text, which needs no rounding.
func parseScaled(s string, by scale) (float64, bool) {
	exp := 0
	mantissa := s
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		e, err := strconv.Atoi(s[i+1:])
		if err != nil || e > 1e6 || e < -1e6 {
			return 0, false
		}
		exp, mantissa = e, s[:i]
	} else if c := s[len(s)-1]; c != '.' && (c < '0' || c > '9') {
		v, err := strconv.ParseFloat(s, 64) // nan, inf
		return v, err == nil
	}
	v, err := strconv.ParseFloat(mantissa+"e"+strconv.Itoa(exp+int(by)), 64)
	if err != nil && !math.IsInf(v, 0) {
		return 0, false
	}
	return v, true
}

// value puts a parsed number into the sample: as its value when it is finite,
// else as what was printed.
func (rec *Record) value(v float64, printed []byte) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		rec.Sample.Value = 0
		rec.Sample.Invalid = quote(printed)
		return
	}
	rec.Sample.Value = v
}
