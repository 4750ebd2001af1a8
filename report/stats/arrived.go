package stats

import (
	"math"
	"strconv"
	"strings"
)

// Arrived is the samples of one benchmark on one side as a measuring hands
// them over.
type Arrived struct {
	Values []float64 // NaN or ±Inf where the tool printed no number
	// Pairs says which pair each value belongs to, from 0, in rising order. Nil
	// where that is not known.
	Pairs []int32
	Lost  int // runs that ended badly and left no value
}

// Lay lays samples out as a comparison takes them and returns the input
// completed by Old, New, LostOld, LostNew and, for a time, Resolution: index i
// is pair i, with a NaN for a run that left no value, up to the given number of
// attempted pairs at least. Where either side does not say which pairs its
// samples belong to, they stay in their order.
func (in Input) Lay(old, new Arrived, attempted int) Input {
	in.LostOld, in.LostNew = old.Lost, new.Lost
	if in.Time {
		in.Resolution = constantStep(old.Values, new.Values)
	}
	if old.hasPlaces() && new.hasPlaces() && attempted <= MaxPairs {
		in.Old, in.New = old.placed(attempted), new.placed(attempted)
	} else {
		in.Old, in.New = old.inOrder(), new.inOrder()
	}
	return in
}

// constantStep guesses in which step a time was printed that is the same in all
// runs: that of its last digit other than zero. Whole nanoseconds below a
// millisecond are taken to be printed in full. Where values differ, the
// smallest gap between them tells more, and 0 is given.
func constantStep(sides ...[]float64) float64 {
	first := math.NaN()
	for _, values := range sides {
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

// hasPlaces tells whether each sample says which pair it belongs to. Places
// that come twice (two files with numbers of their own) say nothing.
func (a Arrived) hasPlaces() bool {
	if len(a.Values) > 0 && a.Pairs == nil {
		return false
	}
	for i, p := range a.Pairs {
		if p >= MaxPairs || i > 0 && p == a.Pairs[i-1] {
			return false
		}
	}
	return true
}

// placed sets each sample at the index of its pair, at least n of them.
func (a Arrived) placed(n int) []float64 {
	if len(a.Values) == 0 && a.Lost == 0 {
		return nil
	}
	for _, p := range a.Pairs {
		n = max(n, int(p)+1)
	}
	out := make([]float64, n)
	for i := range out {
		out[i] = math.NaN()
	}
	for i, p := range a.Pairs {
		out[p] = present(a.Values[i])
	}
	return out
}

func (a Arrived) inOrder() []float64 {
	out := make([]float64, len(a.Values))
	for i, x := range a.Values {
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
