package report

import (
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
)

// shortTicks are gonum's ticks with labels as people write them: "2.25M", "0.5",
// "1500", all of an axis in the same unit and with no digits that say nothing.
type shortTicks struct{}

// Ticks implements plot.Ticker.
func (shortTicks) Ticks(least, most float64) []plot.Tick {
	ticks := plot.DefaultTicks{}.Ticks(least, most)
	var values []float64
	for _, t := range ticks {
		if !t.IsMinor() {
			values = append(values, t.Value)
		}
	}
	labels := shortNumbers(values)
	for i := range ticks {
		if !ticks[i].IsMinor() {
			ticks[i].Label, labels = labels[0], labels[1:]
		}
	}
	return ticks
}

// prefixes are those of the numbers from ten thousand on.
var prefixes = []struct {
	factor float64
	name   string
}{{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}}

// shortNumbers writes numbers that stand beside each other.
func shortNumbers(values []float64) []string {
	largest, step := 0.0, math.Inf(1)
	for i, v := range values {
		largest = math.Max(largest, math.Abs(v))
		if i > 0 && v != values[i-1] {
			step = math.Min(step, math.Abs(v-values[i-1]))
		}
	}
	factor, name := 1.0, ""
	for _, p := range prefixes {
		if largest >= 1e4 && largest >= p.factor {
			factor, name = p.factor, p.name
			break
		}
	}
	if math.IsInf(step, 1) {
		step = largest
	}
	out := make([]string, len(values))
	for i, v := range values {
		if largest >= 1e16 || largest > 0 && largest < 1e-4 {
			out[i] = strconv.FormatFloat(v, 'g', 4, 64)
			continue
		}
		// So many decimals tell two neighbours apart, and one more shows a half.
		decimals := min(max(0, 1-int(math.Floor(math.Log10(math.Max(step/factor, 1e-15))))), 12)
		out[i] = strconv.FormatFloat(v/factor, 'f', decimals, 64)
	}
	for allEndIn(out, "0") {
		for i := range out {
			out[i] = strings.TrimSuffix(strings.TrimSuffix(out[i], "0"), ".")
		}
	}
	for i := range out {
		if out[i] == "-0" {
			out[i] = "0"
		}
		if out[i] != "0" {
			out[i] += name
		}
	}
	return out
}

// allEndIn tells whether every text has decimals and ends so.
func allEndIn(texts []string, end string) bool {
	for _, s := range texts {
		if !strings.Contains(s, ".") || strings.Contains(s, "e") || !strings.HasSuffix(s, end) {
			return false
		}
	}
	return len(texts) > 0
}
