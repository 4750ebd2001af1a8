package report

import (
	"math"
	"strconv"
	"strings"
)

// notAvailable stands where a number does not exist.
const notAvailable = "NA"

// percent writes a fraction as a percentage with two decimals, "-1.25 %". What
// would round to zero and is not says so, since "-0.00 %" says nothing.
func percent(x float64) string {
	switch {
	case math.IsNaN(x):
		return notAvailable
	case math.IsInf(x, 0):
		return strconv.FormatFloat(x, 'f', -1, 64) + " %"
	case x == 0:
		return "0.00 %" // also for a negative zero
	case math.Abs(x)*100 < .005:
		return "<0.01 %"
	}
	return strconv.FormatFloat(x*100, 'f', 2, 64) + " %"
}

// plusMinus writes the half-width of an interval in compare.R's spelling, "±1.25%".
func plusMinus(x float64) string {
	switch {
	case math.IsNaN(x) || math.IsInf(x, 0):
		return notAvailable
	case x != 0 && math.Abs(x)*100 < .005:
		return "±<0.01%"
	}
	return "±" + strconv.FormatFloat(x*100, 'f', 2, 64) + "%"
}

// Percent writes a fraction as a percentage as people say it: "2 %", "1.4 %",
// "0.25 %"; NA where there is none.
func Percent(x float64) string {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return notAvailable
	}
	p := x * 100
	digits := 1
	if a := math.Abs(p); a >= 100 {
		digits = 0
	} else if a < 1 && a > 0 {
		digits = min(1-int(math.Floor(math.Log10(a))), 8)
	}
	s := strconv.FormatFloat(p, 'f', digits, 64)
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s + " %"
}

// exactPercent writes a margin or a level with all its digits: "2 %", "0.125 %".
func exactPercent(x float64) string {
	return strconv.FormatFloat(math.Round(x*100*1e9)/1e9, 'f', -1, 64) + " %"
}

// number writes a value in its unit with about five significant digits and
// thousands apart: "1 204 551", "66.31", "0.000215".
func number(x float64) string {
	a := math.Abs(x)
	switch {
	case math.IsNaN(x):
		return notAvailable
	case math.IsInf(x, 0) || a >= 1e15 || a != 0 && a < 1e-6:
		return strconv.FormatFloat(x, 'g', 5, 64)
	case a == math.Trunc(a) && a < 1e5:
		return strconv.FormatFloat(x, 'f', 0, 64)
	case a >= 1e4:
		return thousands(strconv.FormatFloat(x, 'f', 0, 64))
	case a >= 1:
		return strconv.FormatFloat(x, 'f', 4-int(math.Floor(math.Log10(a))), 64)
	}
	return strconv.FormatFloat(x, 'f', 4-int(math.Floor(math.Log10(max(a, 1e-9)))), 64)
}

// thousands sets a space between groups of three digits of a whole number.
func thousands(s string) string {
	sign, s := cutSign(s)
	var b strings.Builder
	for i, d := range s {
		if i > 0 && (len(s)-i)%3 == 0 && len(s) > 4 {
			b.WriteByte(' ')
		}
		b.WriteRune(d)
	}
	return sign + b.String()
}

func cutSign(s string) (sign, rest string) {
	if rest, ok := strings.CutPrefix(s, "-"); ok {
		return "-", rest
	}
	return "", s
}

// pValue writes a p-value; below 1e-300 there are no digits to trust.
func pValue(p float64) string {
	switch {
	case math.IsNaN(p):
		return notAvailable
	case p < 1e-300:
		return "<1e-300"
	case p >= .001:
		return strconv.FormatFloat(p, 'f', 4, 64)
	}
	return strconv.FormatFloat(p, 'e', 1, 64)
}

// plural writes "1 run" or "3 runs".
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}
