package report

import (
	"fmt"
	"math"
	"strings"

	"github.com/prbench/prbench/internal/job"
)

// This file holds the parts of which a report over several comparisons is made
// (report/backport), so that they look like those of one.

// Number is a number of a JSON report: NaN and ±Inf are null.
type Number = optional

// Short makes one line of foreign text safe to print and cuts its middle out
// where it is wider than so many columns.
func Short(s string, columns int) string { return shorten(Visible(s), columns) }

// Plain keeps a sentence of ours readable, and puts it into inline code where
// foreign text in it could be taken for more than text. A cell of a table needs
// Cell around it.
func Plain(s string) string { return codeUnsafe(s) }

// Cell makes Markdown fit for a cell of a table: nothing in it begins another
// cell or another row.
func Cell(markdown string) string {
	return strings.NewReplacer("|", "/", "\n", " ", "\r", " ").Replace(markdown)
}

// CommitMarkdown shows a commit as a link, or as its short name.
func CommitMarkdown(r job.Repository, sha string) string {
	return sideMarkdown(r, job.Side{SHA: sha})
}

// ShortSHA is a commit's name as people write it.
func ShortSHA(sha string) string { return shortSHA(sha) }

// Folded folds whole Markdown blocks under a title of ours; empty for an empty body.
func Folded(title, body string) string { return details(title, body) }

// Tail keeps the end of a log, at most so many lines and bytes, safe to print.
func Tail(log string, lines, bytes int) string {
	tail, _ := lastLines(VisibleLog(log), lines, bytes)
	return tail
}

// ExactPercent writes a margin or a level with all its digits: "2 %", "0.125 %".
func ExactPercent(x float64) string { return exactPercent(x) }

// Plural writes "1 run" or "3 runs".
func Plural(n int, one, many string) string { return plural(n, one, many) }

// Columns is how wide a terminal shows the text.
func Columns(s string) int { return displayWidth(s) }

// MarkdownWithin is Markdown in at most so many bytes; empty where what cannot be
// cut takes more.
func (r *Report) MarkdownWithin(most int) string {
	if text := r.markdown(min(most, MaxMarkdown)); len(text) <= most {
		return text
	}
	return ""
}

// Change says what the data say of the benchmark, in one line: the measured
// change with its interval, or why there is none, and what would settle it.
// Foreign text is put through quote.
func (row *Row) Change(margin float64, quote func(string) string) string {
	return row.describe(margin, quote)
}

// Range is the measured improvement and its interval for a column of a table:
// "-3.10 % [-4.60, -1.60]"; empty where there is none.
func (row *Row) Range() string {
	if row.Stat.NoPercentage || row.OnlyOn != "" {
		return ""
	}
	return RangeText(row.Stat.Improvement, row.Interval)
}

// RangeText is Range of an improvement and its interval.
func RangeText(improvement float64, interval [2]float64) string {
	if math.IsNaN(improvement) {
		return ""
	}
	text := percent(improvement)
	if lo, hi := interval[0], interval[1]; lo <= hi {
		text += fmt.Sprintf(" [%s, %s]", strings.TrimSuffix(percent(lo), " %"), strings.TrimSuffix(percent(hi), " %"))
	}
	return text
}

// CommandOf spells a spec as the flags of `bot compare` and `bot backport`.
func CommandOf(s job.Spec) string { return recipe(s) }

// BackportRecipe are the commands that repeat a backport in a clone of the
// repository; empty where there is nothing to pick. command is CommandOf the spec.
func BackportRecipe(pr int, c job.Change, lines []string, command string) string {
	if len(c.Picks) == 0 {
		return ""
	}
	commits := commitsOf(c)
	if commits == "" {
		return ""
	}
	var named []string
	for _, l := range lines {
		named = append(named, shellWord(l))
	}
	fetch := "git fetch origin"
	if pr > 0 {
		fetch += fmt.Sprintf(" refs/pull/%d/head", pr)
	}
	pick := fmt.Sprintf("bot backport --repo . --commits %s --lines %s", commits, strings.Join(named, ","))
	if command != "" {
		pick += " " + command
	}
	return shorten(Visible(fetch+" "+strings.Join(named, " ")), 2000) + "\n" + shorten(Visible(pick), 2000)
}

// commitsOf spells a change as what `bot backport --commits` takes; empty where a
// pick is no commit's name.
func commitsOf(c job.Change) string {
	first, last := c.Picks[0], c.Picks[len(c.Picks)-1]
	switch {
	case !isSHA(first.SHA) || !isSHA(last.SHA) || first.Since != "" && !isSHA(first.Since):
		return ""
	case first.Since != "":
		return first.Since + ".." + last.SHA
	case len(c.Picks) == 1:
		return last.SHA
	}
	return first.SHA + "^.." + last.SHA
}
