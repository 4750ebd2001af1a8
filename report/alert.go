package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/prbench/prbench/report/stats"
)

// Limits of the lists of warnings.
const (
	alertRows    = 5
	warningsMost = 12
)

// varianceAlert is the warning that stands where the variance is too high to
// support a result: what varies, the limits, and what would do.
func (r *Report) varianceAlert() string {
	rows := r.tooVariable()
	if len(rows) == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "> [!WARNING]\n> **%s**, marked (!) in the table. %s\n>\n", r.varianceTitle(len(rows)), r.varianceMeaning(rows))
	for _, row := range rows[:min(len(rows), alertRows)] {
		fmt.Fprintf(&b, "> - %s: %s.\n", Code(shorten(Visible(row.ID), nameColumns)), row.alertText(r.Design.Margin))
	}
	if more := len(rows) - alertRows; more > 0 {
		fmt.Fprintf(&b, "> - and %d more.\n", more)
	}
	return b.String() + "\n"
}

// tooVariable are the rows whose variance is too high for a result.
func (r *Report) tooVariable() []*Row {
	var rows []*Row
	for _, row := range r.Rows {
		if row.warning(codeVariance) != nil && row.OnlyOn == "" && !row.Twin {
			rows = append(rows, row)
		}
	}
	return rows
}

func (r *Report) varianceTitle(n int) string {
	if r.Summary.Compared == 1 {
		return "The variance leaves the benchmark open"
	}
	return fmt.Sprintf("The variance leaves %d of %d benchmarks open", n, r.Summary.Compared)
}

// varianceMeaning says once for all rows what too high a variance means, from
// where on it is, and what would settle a row.
func (r *Report) varianceMeaning(rows []*Row) string {
	m := exactPercent(r.Design.Margin)
	text := "That does not mean unchanged: what their verdicts leave open cannot be told from these runs."
	var likely, even []float64
	settle := false
	for _, row := range rows {
		c := row.Stat
		if !math.IsNaN(c.VarianceLimit) && !c.NoPercentage {
			likely, even = append(likely, c.VarianceLimit), append(even, c.EvenOddsCV)
		}
		settle = settle || c.RunsFactor > 0 && row.Verdict != stats.Slower && !c.NoPercentage
	}
	if len(likely) > 0 {
		text += fmt.Sprintf(" With as many runs, a verdict at ±%s is likely where one run varies by less than %s (cv), and a change of %s has even odds of a star up to a cv of %s.",
			m, percentRange(likely), m, percentRange(even))
	}
	if settle {
		text += fmt.Sprintf(" To settle ±%s is to show no change beyond it, if there is none, in a fixed run of that many.", m)
	}
	return text
}

// percentRange writes one percentage, or the smallest and the largest.
func percentRange(xs []float64) string {
	low, high := Percent(slices.Min(xs)), Percent(slices.Max(xs))
	if low == high {
		return low
	}
	return low + " to " + high
}

// alertText is what varies and what would settle it.
func (row *Row) alertText(margin float64) string {
	var parts []string
	if c := row.Stat; c.NoPercentage {
		parts = append(parts, oldNearZero)
	} else if !math.IsNaN(c.CV) {
		parts = append(parts, "cv "+Percent(c.CV))
	}
	if how := row.settles(margin); how != "" {
		parts = append(parts, how)
	}
	return strings.Join(parts, "; ")
}

// otherWarnings lists what is wrong with the whole measurement, beside what
// has its own place above.
func (r *Report) otherWarnings(budget int) string {
	var lines []string
	for _, w := range r.Warnings {
		switch w.Code {
		case codeIncomplete, codeMissingSide, codeOutdated:
			continue
		}
		lines = append(lines, fmt.Sprintf("- %s: %s", w.Code, codeUnsafe(w.Text)))
	}
	for _, note := range r.About.Notes {
		if !strings.HasPrefix(note, harnessNote) {
			lines = append(lines, "- note: "+codeUnsafe(shorten(Visible(note), 300)))
		}
	}
	if len(lines) == 0 {
		return ""
	}
	text, n := cutLines(lines, budget)
	if left := len(lines) - n; left > 0 {
		text += fmt.Sprintf("\n- and %d more", left)
	}
	return "What else to know:\n" + text + "\n\n"
}
