package report

import (
	"fmt"
	"math"
	"strings"

	"github.com/prbench/prbench/report/stats"
)

// namedRows is how many benchmarks each part of the answer names.
const namedRows = 8

// answers lists, for each part of the headline, which benchmarks it is about
// and what the data say of each.
func (r *Report) answers() string {
	var b strings.Builder
	for _, k := range answerParts() {
		rows := r.bucketRows(k)
		if len(rows) == 0 {
			continue
		}
		part := r.answer(k, rows)
		if b.Len()+len(part) > answerBytes {
			fmt.Fprintf(&b, "- **%s: %d**\n", bucketTitle(k, r.Design.Margin), len(rows))
			continue
		}
		b.WriteString(part)
	}
	if b.Len() == 0 {
		return ""
	}
	return b.String() + "\n"
}

func (r *Report) bucketRows(k bucket) []*Row {
	var rows []*Row
	for _, v := range k.verdicts {
		for _, row := range r.Rows {
			if row.Verdict == v && row.OnlyOn == "" && !row.Twin {
				rows = append(rows, row)
			}
		}
	}
	return rows
}

// bucketTitle is what a part of the headline is called above its benchmarks.
func bucketTitle(k bucket, margin float64) string {
	m := exactPercent(margin)
	switch k.verdicts[0] {
	case stats.Regression:
		return "Worse by more than " + m
	case stats.Slower:
		return "Worse, but the data cannot say whether by more than " + m
	case stats.Faster:
		return "Better"
	case stats.SlowerWithin:
		return "Worse, but by less than " + m
	case stats.Equivalent:
		return "Proven unchanged: no difference beyond ±" + m
	case stats.NoWorse:
		return "Proven not worse by more than " + m + " (may be better)"
	case stats.Inconclusive:
		return "Too noisy to tell"
	case stats.NotComparable:
		return "Not comparable"
	}
	return "No verdict"
}

// answer is one part: a title, and its benchmarks below it or, where they need
// no words each, behind it.
func (r *Report) answer(k bucket, rows []*Row) string {
	var b strings.Builder
	fmt.Fprintf(&b, "- **%s** (%d)", bucketTitle(k, r.Design.Margin), len(rows))
	shown := rows[:min(len(rows), namedRows)]
	// Equal ones need no words.
	var equal []string
	var lines strings.Builder
	for _, row := range shown {
		name := Code(shorten(Visible(row.ID), nameColumns))
		if row.Verdict == stats.Equivalent {
			equal = append(equal, name)
			continue
		}
		fmt.Fprintf(&lines, "\n  - %s: %s", name, row.answerText(r.Design.Margin))
	}
	if len(equal) > 0 {
		b.WriteString(": " + strings.Join(equal, ", "))
	}
	b.WriteString(lines.String())
	if more := len(rows) - len(shown); more > 0 {
		if lines.Len() == 0 {
			fmt.Fprintf(&b, " and %d more", more)
		} else {
			fmt.Fprintf(&b, "\n  - and %d more, in the table below", more)
		}
	}
	b.WriteByte('\n')
	return b.String()
}

// answerText is plainText for Markdown.
func (row *Row) answerText(margin float64) string {
	return row.describe(margin, codeUnsafe)
}

// plainText says what the data say of one benchmark, and for those that cannot
// be told what would settle it.
func (row *Row) plainText(margin float64) string {
	return row.describe(margin, Visible)
}

func (row *Row) describe(margin float64, quote func(string) string) string {
	var parts []string
	if c := row.changeText(); c != "" {
		parts = append(parts, c)
	}
	if row.Why != "" {
		parts = append(parts, quote(row.Why))
	}
	switch how := row.settles(margin); {
	case row.warning(codeContradict) != nil:
		parts = append(parts, "the attempts contradict each other")
	case how != "":
		parts = append(parts, how)
	case row.Verdict == stats.Inconclusive, row.Verdict == stats.Slower:
		parts = append(parts, "more runs would narrow this")
	}
	if len(parts) == 0 {
		parts = append(parts, row.Words)
	}
	if row.Accepted != nil {
		parts = append(parts, row.Accepted.Text(quote))
	}
	return strings.Join(parts, "; ")
}

// changeText is the measured change with its interval: "3.1 % slower (between
// 1.6 % and 4.6 %)". Where the interval is that of several attempts, it comes
// first, since the change of this one may lie outside of it.
func (row *Row) changeText() string {
	e := row.Stat.Improvement
	if math.IsNaN(e) || row.Stat.NoPercentage {
		return ""
	}
	a := adjectivesFor(row.Unit)
	word := a.better
	if e < 0 {
		word = a.worse
	}
	text := strings.TrimSuffix(percent(math.Abs(e)), " %") + " % " + word
	if e == 0 {
		text = "0.00 % change"
	}
	i := row.Interval
	if row.overOthers() {
		if all := row.attemptsText(a); all != "" {
			return all + "; this run: " + text
		}
		return "this run: " + text
	}
	if row.Verdict == stats.NoVerdict || math.IsNaN(i[0]) || math.IsNaN(i[1]) || i[0] == i[1] || i[0] > i[1] {
		return text
	}
	switch {
	case math.IsInf(i[0], 0) || math.IsInf(i[1], 0):
		return text + " (may be anything)"
	case i[1] <= 0:
		return fmt.Sprintf("%s (between %s and %s)", text, percent(-i[1]), percent(-i[0]))
	case i[0] >= 0:
		return fmt.Sprintf("%s (between %s and %s)", text, percent(i[0]), percent(i[1]))
	}
	return fmt.Sprintf("%s (anything from %s %s to %s %s)", text, percent(-i[0]), a.worse, percent(i[1]), a.better)
}

// overOthers tells whether the verdict is not that of this attempt alone.
func (row *Row) overOthers() bool {
	return row.combined.Judged > 1 || row.combined.Judged == 1 && row.Stat.Verdict == stats.NoVerdict
}

// attemptsText is the interval of all attempts together: "over 2 attempts
// between 1.00 % and 2.99 % slower"; empty where they have none.
func (row *Row) attemptsText(a adjectives) string {
	over := "over " + plural(row.combined.Judged, "attempt", "attempts")
	if row.combined.Judged == 1 {
		over = "in the one attempt that could be judged"
	}
	lo, hi := row.Interval[0], row.Interval[1]
	switch {
	case !(lo <= hi):
		return ""
	case math.IsInf(lo, 0) || math.IsInf(hi, 0):
		return over + " it may be anything"
	case lo == 0 && hi == 0:
		return over + " no change"
	case lo == hi && hi < 0:
		return fmt.Sprintf("%s %s %s", over, percent(-lo), a.worse)
	case lo == hi:
		return fmt.Sprintf("%s %s %s", over, percent(lo), a.better)
	case hi <= 0:
		return fmt.Sprintf("%s between %s and %s %s", over, percent(-hi), percent(-lo), a.worse)
	case lo >= 0:
		return fmt.Sprintf("%s between %s and %s %s", over, percent(lo), percent(hi), a.better)
	}
	return fmt.Sprintf("%s anything from %s %s to %s %s", over, percent(-lo), a.worse, percent(hi), a.better)
}
