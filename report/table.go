package report

import (
	"fmt"
	"math"
	"strings"

	"github.com/prbench/prbench/report/stats"
)

// tableHead are Node's columns, then ours.
var tableHead = []string{"confidence", "improvement", "accuracy (*)", "(**)", "(***)", "verdict"}

// table is the confidence table in a fence, worst rows first, cut at a row
// where it would be longer than budget bytes.
func (r *Report) table(budget int) string {
	var names []string
	var cells [][]string
	var pictures []string
	for _, row := range r.Rows {
		if row.OnlyOn != "" {
			continue
		}
		names = append(names, shorten(Visible(row.ID), nameColumns))
		cells = append(cells, row.tableCells())
		pictures = append(pictures, picture(row.pictured(), row.Stat.Improvement, r.Design.Margin))
	}
	if len(names) == 0 {
		return ""
	}
	lines := tableLines(names, cells, pictures, pictureScale(r.Design.Margin))
	body, n := cutLines(lines, budget)
	out := Fence(body, "text")
	if left := len(lines) - n; left > 0 {
		out += fmt.Sprintf("\n%s of %d are not shown, the least interesting ones%s.\n", plural(left, "row", "rows"), len(lines)-1, r.wholeLink())
	}
	return out + "\n"
}

// wholeLink says where the whole report is.
func (r *Report) wholeLink() string {
	if r.About.Page == "" {
		return "; `bot report` on the samples shows all"
	}
	return fmt.Sprintf("; [the whole report](%s) has all", r.About.Page)
}

// tableLines lays the table out: names to the left, columns right-aligned,
// verdicts and pictures left-aligned.
func tableLines(names []string, cells [][]string, pictures []string, scale string) []string {
	last := len(tableHead) - 1
	widths := make([]int, len(tableHead))
	for i, h := range tableHead {
		widths[i] = displayWidth(h)
		for _, row := range cells {
			widths[i] = max(widths[i], displayWidth(row[i]))
		}
	}
	nameWidth := 0
	for _, n := range names {
		nameWidth = max(nameWidth, displayWidth(n))
	}
	line := func(name string, row []string, picture string) string {
		var b strings.Builder
		pad(&b, name, nameWidth, false)
		for i, c := range row[:last] {
			b.WriteByte(' ')
			pad(&b, c, widths[i], true)
		}
		b.WriteString("  ")
		pad(&b, row[last], widths[last], false)
		b.WriteString("  ")
		b.WriteString(picture)
		return strings.TrimRight(b.String(), " ")
	}
	out := []string{line("", tableHead, scale)}
	for i := range names {
		out = append(out, line(names[i], cells[i], pictures[i]))
	}
	return out
}

// cutLines joins as many lines as fit, at least the first two.
func cutLines(lines []string, budget int) (string, int) {
	size, n := 0, 0
	for n < len(lines) && (n < 2 || size+len(lines[n])+1 <= budget) {
		size += len(lines[n]) + 1
		n++
	}
	return strings.Join(lines[:n], "\n"), n
}

// tableCells are a row's cells below tableHead. The improvement is oriented:
// plus is better, whatever the unit.
func (row *Row) tableCells() []string {
	c := row.Stat
	cells := []string{c.Stars, percent(c.Improvement), plusMinus(c.Accuracy[0]), plusMinus(c.Accuracy[1]), plusMinus(c.Accuracy[2]), row.verdictCell()}
	if c.NoPercentage {
		cells[1], cells[2], cells[3], cells[4] = notAvailable, notAvailable, notAvailable, notAvailable
	}
	if math.IsNaN(c.P) {
		cells[0] = notAvailable
	}
	return cells
}

// verdictCell is the verdict with its reason, marked where the variance is too high.
func (row *Row) verdictCell() string {
	text := row.Words
	if row.Why != "" {
		text += ": " + shorten(Visible(row.Why), 60)
	}
	if row.warning(codeVariance) != nil {
		text += " (!)"
	}
	if row.Twin {
		text += " (not counted)"
	}
	return text
}

// pictured is the interval to draw: none where there is no verdict on a percentage.
func (row *Row) pictured() [2]float64 {
	if row.Stat.NoPercentage || row.Verdict == stats.NoVerdict || row.Verdict == stats.NotComparable {
		return [2]float64{math.NaN(), math.NaN()}
	}
	return row.Interval
}

// manyComparisons is the note under the table.
func (r *Report) manyComparisons() string {
	if r.Summary.Compared == 0 {
		return ""
	}
	return r.noteText(r.hasPicture()) + "\n\n"
}

// noteText says how to read the table, and how many stars chance alone gives.
func (r *Report) noteText(pictures bool) string {
	n := r.Summary.Compared
	atMost, how := "", "Welch's t-test"
	if r.Design.Adaptive() {
		atMost, how = "at most ", "paired, adjusted for the looks"
	} else if r.Design.Analysis == stats.Paired {
		how = "paired"
	}
	f := r.Summary.FalseStars
	text := fmt.Sprintf("Plus is better. One star means that a change this large is unlikely by chance alone (`*` p < .05, `**` p < .01, `***` p < .001%s; %s). "+
		"With %s, expect %s%.2f, %.2f and %.2f false results at `*`, `**` and `***` even if nothing changed.",
		levelText(r.Design.Attempt), how, plural(n, "comparison", "comparisons"), atMost, f[0], f[1], f[2])
	switch {
	case r.Design.Adaptive():
		text += " Column p, with the numbers of each benchmark, is not adjusted for the looks."
	case r.Design.Attempt > 1:
		text += " Column p, with the numbers of each benchmark, is not adjusted for the attempts."
	}
	if pictures {
		at := ""
		if r.Design.Attempt < 2 {
			at = " at " + exactPercent(1-r.Design.Alpha)
		}
		counted := ", with the uncertainty of the old mean counted in"
		if len(r.Rows) > 0 && r.Rows[0].printed != nil {
			counted = "" // a printed table does not tell it
		}
		text += fmt.Sprintf(" The picture, like the ranges in the list, shows what the data leave possible%s%s: "+
			"`●` measured, `━` possible, `◄` `►` beyond the picture, `│` no change, `┊` ±%s.", at, counted, exactPercent(r.Design.Margin))
		if r.Design.Attempt > 1 {
			text += " `●` is this run and `━` all attempts together; `○` lies outside of what they leave possible together."
		}
	}
	return text
}

// levelText says at which part of the usual levels a later attempt gives stars.
func levelText(attempt int) string {
	if attempt < 2 {
		return ""
	}
	part := "half"
	switch attempt {
	case 2:
	case 3:
		part = "a quarter"
	default:
		part = fmt.Sprintf("1/%.0f", math.Ldexp(1, attempt-1))
	}
	return fmt.Sprintf(", and in attempt %d stars and accuracies are at %s of these levels", attempt, part)
}

func (r *Report) hasPicture() bool {
	for _, row := range r.Rows {
		if row.OnlyOn == "" && picture(row.pictured(), row.Stat.Improvement, r.Design.Margin) != "" {
			return true
		}
	}
	return false
}
