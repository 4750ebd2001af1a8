package report

import (
	"math"
	"strconv"
	"strings"

	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/report/stats"
)

// input lays a series out as the statistics take it: index i is pair i, with a
// NaN for a run that left no value.
func input(s *Series, counts map[string]bool) stats.Input {
	in := stats.Input{
		Better:  stats.LowerIsBetter,
		Count:   counts[s.Unit] || wellKnownCounts[s.Unit],
		Time:    unitKind(s.Unit) == kindTime,
		LostOld: s.Old.Lost,
		LostNew: s.New.Lost,
	}
	if betterOf(s.Better, s.Unit) == job.Higher {
		in.Better = stats.HigherIsBetter
	}
	if in.Time {
		in.Resolution = constantStep(s)
	}
	if hasPlaces(s.Old) && hasPlaces(s.New) && s.Attempted <= stats.MaxPairs {
		in.Old, in.New = placed(s.Old, s.Attempted), placed(s.New, s.Attempted)
	} else {
		in.Old, in.New = unplaced(s.Old), unplaced(s.New)
	}
	return in
}

// constantStep guesses in which step a time was printed that is the same in all
// runs: that of its last digit other than zero. Whole nanoseconds below a
// millisecond are taken to be printed in full. Where values differ, the
// smallest gap between them tells more, and 0 is given.
func constantStep(s *Series) float64 {
	first := math.NaN()
	for _, values := range [][]float64{s.Old.Value, s.New.Value} {
		for _, v := range values {
			if math.IsNaN(first) {
				first = v
			}
			if v != first {
				return 0
			}
		}
	}
	if !(first > 0) || math.IsInf(first, 0) {
		return 0
	}
	if first < 1e6 && first == math.Trunc(first) {
		return 1
	}
	digits := strconv.FormatFloat(first, 'e', -1, 64) // "2.5e+08"
	mantissa, exponent, _ := strings.Cut(digits, "e")
	e, err := strconv.Atoi(exponent)
	if err != nil {
		return 0
	}
	if _, decimals, ok := strings.Cut(mantissa, "."); ok {
		e -= len(decimals)
	}
	return math.Pow10(e)
}

// hasPlaces tells whether each sample of a side says which pair it belongs to.
// Places that come twice (two files with numbers of their own) say nothing.
func hasPlaces(v Values) bool {
	if len(v.Value) > 0 && v.Pair == nil {
		return false
	}
	for i, p := range v.Pair {
		if p >= stats.MaxPairs || i > 0 && p == v.Pair[i-1] {
			return false
		}
	}
	return true
}

// placed sets each sample at the index of its pair, at least n of them.
func placed(v Values, n int) []float64 {
	if len(v.Value) == 0 && v.Lost == 0 {
		return nil
	}
	for _, p := range v.Pair {
		n = max(n, int(p)+1)
	}
	out := make([]float64, n)
	for i := range out {
		out[i] = math.NaN()
	}
	for i, p := range v.Pair {
		out[p] = present(v.Value[i])
	}
	return out
}

func unplaced(v Values) []float64 {
	out := make([]float64, len(v.Value))
	for i, x := range v.Value {
		out[i] = present(x)
	}
	return out
}

// present marks a value that is there and no number, which NaN would make a
// missing one.
func present(x float64) float64 {
	if math.IsNaN(x) {
		return math.Inf(1)
	}
	return x
}
