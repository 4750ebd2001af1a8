package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/prbench/prbench/internal/benchfmt"
	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/report/stats"
)

// This file decides the words of verdicts: what a row is called in the table,
// in a sentence and in the headline. Nothing else spells a verdict.

// adjectives are the two directions in which a benchmark can move.
type adjectives struct{ better, worse string }

// adjectivesFor says "faster" of times and rates, and "better" of anything
// else, since more allocations are not slower.
func adjectivesFor(unit string) adjectives {
	if q := benchfmt.QuantityOf(unit); q == benchfmt.TimeQuantity || q == benchfmt.RateQuantity {
		return adjectives{"faster", "slower"}
	}
	return adjectives{"better", "worse"}
}

// VerdictWords is the verdict on a benchmark of that unit in a few words, for a
// column of a table.
func VerdictWords(v stats.Verdict, by stats.Beyond, unit string, margin float64) string {
	a, m := adjectivesFor(unit), exactPercent(margin)
	switch v {
	case stats.Faster:
		switch by {
		case stats.MoreThan:
			return a.better + " by >" + m
		case stats.LessThan:
			return a.better + " by <" + m
		}
		return a.better
	case stats.Regression:
		return a.worse + " by >" + m
	case stats.SlowerWithin:
		return a.worse + " by <" + m
	case stats.Slower:
		return a.worse + ", size unclear"
	case stats.Equivalent:
		return "unchanged within ±" + m
	case stats.NoWorse:
		return "not " + a.worse + " by >" + m
	case stats.Inconclusive:
		return "too noisy to tell"
	case stats.NotComparable:
		return "not comparable"
	}
	return "no verdict"
}

// verdictSentence is the verdict as a part of a sentence after the benchmark's name.
func verdictSentence(v stats.Verdict, by stats.Beyond, unit string, margin float64) string {
	a, m := adjectivesFor(unit), exactPercent(margin)
	switch v {
	case stats.Faster:
		switch by {
		case stats.MoreThan:
			return a.better + " by more than " + m
		case stats.LessThan:
			return a.better + ", by less than " + m
		}
		return a.better
	case stats.Regression:
		return a.worse + " by more than " + m
	case stats.SlowerWithin:
		return a.worse + ", by less than " + m
	case stats.Slower:
		return a.worse + "; the data cannot say whether by more than " + m
	case stats.Equivalent:
		return "no difference beyond ±" + m
	case stats.NoWorse:
		return "not " + a.worse + " by more than " + m
	case stats.Inconclusive:
		return "too noisy to tell"
	case stats.NotComparable:
		return "not comparable"
	}
	return "no verdict"
}

// bucket is one part of the headline. Every compared row is in exactly one.
type bucket struct {
	verdicts  []stats.Verdict
	one, many string // with %s for the margin
}

// buckets are the parts of the headline in its order.
var buckets = []bucket{
	{[]stats.Verdict{stats.Regression}, "regression beyond %s", "regressions beyond %s"},
	{[]stats.Verdict{stats.Slower}, "slower by an unclear amount", "slower by an unclear amount"},
	{[]stats.Verdict{stats.Faster}, "improvement", "improvements"},
	{[]stats.Verdict{stats.Equivalent, stats.SlowerWithin}, "unchanged within ±%s", "unchanged within ±%s"},
	{[]stats.Verdict{stats.NoWorse}, "not slower by more than %s", "not slower by more than %s"},
	{[]stats.Verdict{stats.Inconclusive}, "too noisy to tell", "too noisy to tell"},
	{[]stats.Verdict{stats.NotComparable}, "not comparable", "not comparable"},
	{[]stats.Verdict{stats.NoVerdict}, "without a verdict", "without a verdict"},
}

// answerParts are the parts of the answer below the headline: its buckets, with
// what is worse by less than the margin apart from what did not change.
func answerParts() []bucket {
	var parts []bucket
	for _, b := range buckets {
		for _, v := range slices.Backward(b.verdicts) {
			parts = append(parts, bucket{verdicts: []stats.Verdict{v}})
		}
	}
	return parts
}

// Headline is the answer in one line of plain text: how many benchmarks got
// slower, faster, are unchanged and cannot be told. Its counts sum to
// Summary.Compared.
func (r *Report) Headline() string {
	var parts []string
	for _, b := range buckets {
		n := 0
		for _, v := range b.verdicts {
			n += r.Summary.ByVerdict[v]
		}
		if n == 0 {
			continue
		}
		words := b.many
		if n == 1 {
			words = b.one
		}
		if strings.Contains(words, "%s") {
			words = fmt.Sprintf(words, exactPercent(r.Design.Margin))
		}
		parts = append(parts, fmt.Sprintf("%d %s", n, words))
	}
	line := strings.Join(parts, ", ")
	switch {
	case r.Summary.Compared == 0:
		line = "no benchmark could be compared"
	case r.Summary.ByVerdict[stats.NoVerdict] == r.Summary.Compared:
		line = r.noVerdictLine()
	}
	var tail []string
	if n := len(r.Summary.OnlyOld); n > 0 {
		tail = append(tail, fmt.Sprintf("%d only in old", n))
	}
	if n := len(r.Summary.OnlyNew); n > 0 {
		tail = append(tail, fmt.Sprintf("%d only in new", n))
	}
	if w := r.warning(codeIncomplete); w != nil {
		tail = append(tail, "incomplete")
	}
	if len(tail) > 0 {
		line += "; " + strings.Join(tail, ", ")
	}
	return line
}

// noVerdictLine is the headline where no row has a verdict: the reason that
// they share, or how many they are.
func (r *Report) noVerdictLine() string {
	why := ""
	for _, row := range r.Rows {
		if row.OnlyOn != "" || row.Twin {
			continue
		}
		if why != "" && row.noVerdictWhy() != why {
			return fmt.Sprintf("no verdict for any of %s", plural(r.Summary.Compared, "benchmark", "benchmarks"))
		}
		why = row.noVerdictWhy()
	}
	if why == "" {
		why = "too little data"
	}
	return "no verdict: " + why
}

// noVerdictWhy says what a row lacks for a verdict.
func (row *Row) noVerdictWhy() string {
	c := row.Stat
	n := min(c.Old.N, c.New.N)
	switch {
	case row.withinProcess():
		return "the values of each benchmark come from one process"
	case c.Reason == stats.ReasonNoLook:
		return "stopped before the first planned look"
	case n < stats.MinRuns:
		return fmt.Sprintf("%s, %d needed", plural(n, "run", "runs"), stats.MinRuns)
	case c.Reason == stats.ReasonTooFew, c.Reason == stats.ReasonConstant, c.Identical:
		return fmt.Sprintf("no spread in %s, %d needed", plural(n, "run", "runs"), stats.MinConstantRuns)
	}
	return ""
}

func (row *Row) withinProcess() bool {
	for _, w := range row.Warnings {
		if w.Code == codeWithinProcess {
			return true
		}
	}
	return false
}

// whyOf says more about a row than its verdict: the reason where it is not
// comparable or has none, and the special ways of being equal.
func whyOf(row *Row) string {
	c := row.Stat
	n := min(c.Old.N, c.New.N)
	var parts []string
	switch {
	case row.OnlyOn != "":
		return "only in " + string(row.OnlyOn)
	case row.printed != nil && c.Reason != stats.ReasonRounded:
		return "" // the samples are gone, and the runs need not be known
	case row.printed != nil:
		return "the printed figures are rounded too far"
	case c.Old.N == 0 && c.New.N == 0:
		return "no usable data"
	case c.Old.N == 0 || c.New.N == 0:
		side := job.Old
		if c.New.N == 0 {
			side = job.New
		}
		return "no usable data in " + string(side)
	case c.Identical && n > 1:
		parts = append(parts, fmt.Sprintf("identical in all %d runs", n))
	case c.Exact:
		parts = append(parts, "exact")
	case c.Reason == stats.ReasonOldMean: // no percentage, with spread or without
	case constantSides(c) && n > 1:
		parts = append(parts, constantText(c))
	}
	if c.NoPercentage || c.Old.Mean <= 0 {
		change := fmt.Sprintf("%s → %s", withUnit(c.Old.Mean, row.Unit), withUnit(c.New.Mean, row.Unit))
		if c.Reason == stats.ReasonOldMean && c.Old.Mean == 0 {
			change += "; no percentage from zero"
		}
		parts = append(parts, change)
	}
	if row.Verdict == stats.NoVerdict {
		if why := row.noVerdictWhy(); why != "" {
			// What the first part says is not said again.
			if _, needed, ok := strings.Cut(why, " runs, "); ok && c.Identical && n > 1 {
				why = needed
			} else if len(parts) > 0 && parts[0] == noSpread {
				why = strings.TrimPrefix(why, "no spread in ")
			}
			parts = append(parts, why)
		}
	}
	return strings.Join(parts, "; ")
}

const noSpread = "no spread, no test"

// constantText says why values without spread are not compared: those that are
// equal, because the clock is too coarse to tell.
func constantText(c stats.Comparison) string {
	if c.Old.Mean == c.New.Mean {
		return "equal times prove nothing"
	}
	return noSpread
}

// constantSides tells whether neither side has any spread.
func constantSides(c stats.Comparison) bool {
	return c.Reason == stats.ReasonConstant || c.Old.SD == 0 && c.New.SD == 0
}

func withUnit(x float64, unit string) string {
	if unit == "" || math.IsNaN(x) {
		return number(x)
	}
	return number(x) + " " + unit
}
