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
	var rows []*Row
	for _, row := range r.Rows {
		if row.warning(codeVariance) != nil && row.OnlyOn == "" && !row.Twin {
			rows = append(rows, row)
		}
	}
	if len(rows) == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "> [!WARNING]\n> **The variance is too high to support a result for %d of %s**, marked (!) in the table. "+
		"That does not mean unchanged: it cannot be told.\n>\n", len(rows), plural(r.Summary.Compared, "benchmark", "benchmarks"))
	for _, row := range rows[:min(len(rows), alertRows)] {
		fmt.Fprintf(&b, "> - %s: %s.\n", Code(shorten(Visible(row.ID), nameColumns)), row.warning(codeVariance).Text)
	}
	if more := len(rows) - alertRows; more > 0 {
		fmt.Fprintf(&b, "> - and %d more.\n", more)
	}
	return b.String() + "\n"
}

// otherWarnings lists what is wrong with the whole measurement, beside what
// has its own place above.
func (r *Report) otherWarnings() string {
	var b strings.Builder
	n := 0
	for _, w := range r.Warnings {
		switch w.Code {
		case codeIncomplete, codeMissingSide, codeOutdated:
			continue
		}
		if n++; n > warningsMost {
			b.WriteString("- and more\n")
			break
		}
		fmt.Fprintf(&b, "- %s: %s\n", w.Code, codeUnsafe(w.Text))
	}
	for _, note := range r.About.Notes[:min(len(r.About.Notes), warningsMost)] {
		if !strings.HasPrefix(note, harnessNote) {
			fmt.Fprintf(&b, "- note: %s\n", codeUnsafe(shorten(Visible(note), 300)))
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return "What else to know:\n" + b.String() + "\n"
}
