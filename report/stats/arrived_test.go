package stats

import (
	"math"
	"slices"
	"testing"
)

func TestSamplesAreLaidAtTheIndexOfTheirPair(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	side := func(pairs []int32, values ...float64) Arrived { return Arrived{Values: values, Pairs: pairs} }
	for name, c := range map[string]struct {
		old, new         Arrived
		attempted        int
		wantOld, wantNew []float64
	}{
		"a run without a value keeps its place": {side([]int32{0, 2}, 1, 3), side([]int32{0, 1, 2}, 4, 5, 6), 3, []float64{1, nan, 3}, []float64{4, 5, 6}},
		"attempts after the last value count":   {side([]int32{0}, 1), side([]int32{0, 1}, 4, 5), 3, []float64{1, nan, nan}, []float64{4, 5, nan}},
		"what is no number is no missing value": {side([]int32{0}, nan), side([]int32{0}, 4), 1, []float64{inf}, []float64{4}},
		"a side that nobody printed is empty":   {Arrived{}, side([]int32{0, 1}, 4, 5), 0, nil, []float64{4, 5}},
		"a side that was lost is missing":       {Arrived{Lost: 2}, side([]int32{0, 1}, 4, 5), 2, []float64{nan, nan}, []float64{4, 5}},
		"without places the order is kept":      {side(nil, 1, 2), side([]int32{0, 5}, 4, 5), 0, []float64{1, 2}, []float64{4, 5}},
		"places that come twice say nothing":    {side([]int32{0, 0}, 1, 2), side([]int32{0, 1}, 4, 5), 0, []float64{1, 2}, []float64{4, 5}},
		"places beyond any plan say nothing":    {side([]int32{MaxPairs}, 1), side([]int32{0}, 4), 0, []float64{1}, []float64{4}},
	} {
		same := func(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }
		got := Input{}.Lay(c.old, c.new, c.attempted)
		if !slices.EqualFunc(got.Old, c.wantOld, same) || !slices.EqualFunc(got.New, c.wantNew, same) {
			t.Errorf("%s: %v, %v", name, got.Old, got.New)
		}
	}
}

func TestTheStepOfATimeThatNeverVariesIsItsLastDigit(t *testing.T) {
	for _, c := range []struct {
		value float64
		time  bool
		want  float64
	}{{2.5e8, true, 1e7}, {250, true, 1}, {3.14e7, true, 1e5}, {0.125, true, 0.001}, {0, true, 0}, {250, false, 0}} {
		one := Arrived{Values: []float64{c.value, c.value}, Pairs: []int32{0, 1}}
		if got := (Input{Time: c.time}).Lay(one, one, 2).Resolution; math.Abs(got-c.want) > 1e-9*c.want {
			t.Errorf("%g: step %g, want %g", c.value, got, c.want)
		}
	}
	if got := (Input{Time: true}).Lay(Arrived{Values: []float64{1, 2}}, Arrived{Values: []float64{1, 1}}, 2).Resolution; got != 0 {
		t.Errorf("values that vary: step %g", got)
	}
}
