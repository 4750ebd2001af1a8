package report

import (
	"fmt"
	"strings"
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
	fmt.Fprintf(&b, "> [!WARNING]\n> **%s**, marked (!) in the table. That does not mean unchanged: what their verdicts leave open cannot be told from these runs.\n>\n", r.varianceTitle(len(rows)))
	for _, row := range rows[:min(len(rows), alertRows)] {
		fmt.Fprintf(&b, "> - %s: %s.\n", Code(shorten(Visible(row.ID), nameColumns)), row.warning(codeVariance).Text)
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
	return fmt.Sprintf("The variance is too high to support a result for %d of %s", n, plural(r.Summary.Compared, "benchmark", "benchmarks"))
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
