package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/prbench/prbench/report/stats"
)

// This file decides what the verdict over all benchmarks together rests on, and
// its words.

// rollUp is the one verdict over all declared benchmarks. A case that printed
// none leaves open what it would have shown, so it counts as one of them.
func (r *Report) rollUp() *stats.RollUp {
	var items []stats.RollUpItem
	for _, row := range r.Rows {
		switch {
		case row.Twin:
		case row.OnlyOn != "":
			items = append(items, stats.RollUpItem{})
		default:
			items = append(items, row.combined.RollUpItem())
		}
	}
	for range r.silent() {
		items = append(items, stats.RollUpItem{})
	}
	all := stats.Combine(items, len(items), len(r.About.Host.Unfit) > 0)
	return &all
}

// silent are the cases that should have printed a benchmark and did not. Under
// a filter only those count that also failed: the others may have had nothing
// to print.
func (r *Report) silent() []Silent {
	if !r.About.Filtered {
		return r.Data.Silent
	}
	failed := map[Silent]bool{}
	for _, l := range r.Data.Losses {
		failed[Silent{l.Suite, l.Case}] = true
	}
	return slices.DeleteFunc(slices.Clone(r.Data.Silent), func(s Silent) bool { return !failed[s] })
}

// RollUpWords is the verdict of the roll-up in a word or two; empty without one.
func (r *Report) RollUpWords() string {
	switch {
	case r.RollUp == nil:
		return ""
	case r.AllAccepted():
		return "regresses, accepted"
	}
	return string(r.RollUp.Verdict)
}

// rollUpTitle is the verdict behind what asked for it.
func (r *Report) rollUpTitle() string {
	if r.About.Backport != nil {
		return "The release line: " + r.RollUpWords() + "."
	}
	return "Gate: " + r.RollUpWords() + "."
}

// RollUpSentence says what the roll-up found, to be quoted behind the name of
// what was measured: "no benchmark is slower by more than 2 % (95 %)". Empty
// without a roll-up.
func (r *Report) RollUpSentence() string {
	if r.RollUp == nil {
		return ""
	}
	u, m, worse := r.RollUp, exactPercent(r.Design.Margin), r.worseWord()
	switch {
	case u.Verdict == stats.Safe:
		which := "no benchmark"
		if r.About.Filtered {
			which += " that was asked for" // it says nothing of the others
		}
		return fmt.Sprintf("%s is %s by more than %s (%s)", which, worse, m, r.confidence())
	case u.Verdict == stats.Regresses:
		together := ""
		if n := r.Design.Declared; n > 1 {
			together = fmt.Sprintf(", all %d taken together", n)
		}
		text := fmt.Sprintf("%s %s by more than %s (%s%s)", plural(u.Regressing, "benchmark is", "benchmarks are"), worse, m, r.confidence(), together)
		if r.AllAccepted() {
			text += ", which was accepted"
		}
		return text
	case u.HostUnfit:
		return "every benchmark held, on a machine that was unfit for a verdict of safety"
	case u.Declared == 0:
		return "no benchmark could be compared"
	}
	return fmt.Sprintf("%d of %s could not be shown to be no %s by more than %s", u.Open, plural(u.Declared, "benchmark", "benchmarks"), worse, m)
}

// worseWord is "slower" where every benchmark is a time or a rate.
func (r *Report) worseWord() string {
	for _, row := range r.Rows {
		if w := adjectivesFor(row.Unit).worse; w != "slower" {
			return w
		}
	}
	return "slower"
}

// confidence is what is left of 100 % after the risk of all attempts.
func (r *Report) confidence() string {
	return exactPercent(1 - stats.FalseStarRisk(max(1, r.Design.Attempt), r.Design.Alpha))
}

// part is what a row does to the roll-up.
type part int

const (
	partHeld      part = iota
	partRegresses      // at the level of all benchmarks together
	partAlone          // regresses, but not at that level
	partNoisy          // inconclusive, or worse by an unclear amount
	partLost           // runs of it were lost, or its values are not usable
	partNoVerdict
	partNotComparable
	partOneSide
	partNone // does not count
)

func (row *Row) part() part {
	item := row.combined.RollUpItem()
	switch {
	case row.Twin:
		return partNone
	case row.OnlyOn != "":
		return partOneSide
	case item.Verdict == stats.Regression && item.FamilyRegression:
		return partRegresses
	case item.Verdict == stats.Regression:
		return partAlone
	case item.Verdict == stats.NotComparable:
		return partNotComparable
	case item.Verdict == stats.NoVerdict:
		return partNoVerdict
	case item.Lost:
		return partLost
	case item.Verdict == stats.Slower, item.Verdict == stats.Inconclusive:
		return partNoisy
	}
	return partHeld
}

// Worst is the benchmark that decides most of the roll-up: of those that regress
// the one with the worst change, else of those that are open, else of all the one
// that may be worst. Nil where nothing was compared.
func (r *Report) Worst() *Row {
	var worst *Row
	class := func(row *Row) int {
		switch row.part() {
		case partRegresses:
			return 0
		case partHeld:
			return 2
		}
		return 1
	}
	for _, row := range r.Rows {
		if row.part() == partNone || row.OnlyOn != "" {
			continue
		}
		switch {
		case worst == nil, class(row) < class(worst):
			worst = row
		case class(row) == class(worst) && row.lowest() < worst.lowest():
			worst = row
		}
	}
	return worst
}

// lowest is how bad the benchmark may be: the lower end of its interval, or its
// change where it has none.
func (row *Row) lowest() float64 {
	for _, x := range []float64{row.Interval[0], row.Stat.Improvement} {
		if !math.IsNaN(x) {
			return x
		}
	}
	return math.Inf(1)
}

// openReasons say why rows are open, beside those that are only noisy.
var openReasons = []struct {
	part      part
	one, many string
}{
	{partLost, "lost runs or values, and those that are left may flatter", "lost runs or values, and those that are left may flatter"},
	{partOneSide, "exists on one side only", "exist on one side only"},
	{partNotComparable, "cannot be compared", "cannot be compared"},
	{partNoVerdict, "has too few runs for a verdict", "have too few runs for a verdict"},
	{partAlone, "regresses alone, but not when all are taken together", "regress alone, but not when all are taken together"},
}

// RollUpSettles says what would settle an inconclusive roll-up, foreign text put
// through quote; empty for others.
func (r *Report) RollUpSettles(quote func(string) string) string {
	if r.RollUp == nil || r.RollUp.Verdict != stats.RollUpInconclusive {
		return ""
	}
	var parts []string
	if unfit := r.About.Host.Unfit; len(unfit) > 0 {
		parts = append(parts, "a fit machine is needed ("+quote(shorten(Visible(strings.Join(unfit, "; ")), 200))+")")
	}
	if n := len(r.silent()); n > 0 {
		parts = append(parts, plural(n, "case", "cases")+" printed no benchmark")
	}
	count := map[part]int{}
	for _, row := range r.Rows {
		count[row.part()]++
	}
	if n := count[partNoisy]; n > 0 {
		parts = append(parts, r.noisySettle(n))
	}
	for _, why := range openReasons {
		if n := count[why.part]; n > 0 {
			words := why.many
			if n == 1 {
				words = why.one
			}
			parts = append(parts, plural(n, "benchmark", "benchmarks")+" "+words)
		}
	}
	return strings.Join(parts, "; ")
}

// noisySettle says how many runs would settle those that are too noisy.
func (r *Report) noisySettle(noisy int) string {
	most, contradict, margin, hopeless := 0, 0, 0, 0
	for _, row := range r.Rows {
		if row.part() != partNoisy {
			continue
		}
		c := row.Stat
		switch {
		case row.warning(codeContradict) != nil:
			contradict++
		case row.settles(r.Design.Margin) == "" || c.RunsFactor > 0:
			most = max(most, c.RunsNeeded)
		case c.AtMargin:
			margin++
		default:
			hopeless++
		}
	}
	of := func(n int) string {
		if n == noisy && n == 1 {
			return "it is"
		}
		return plural(n, "benchmark is", "benchmarks are")
	}
	var parts []string
	switch settled := noisy - contradict - margin - hopeless; {
	case settled > 0 && most > 0:
		parts = append(parts, "about "+plural(most, "run", "runs")+" a side would settle what is too noisy")
	case settled > 0:
		parts = append(parts, "more runs would settle what is too noisy")
	}
	if margin > 0 {
		parts = append(parts, of(margin)+" about at the margin, which more runs will not settle")
	}
	if hopeless > 0 {
		parts = append(parts, of(hopeless)+" too noisy for 10,000 runs a side: a quieter benchmark or a wider margin would tell")
	}
	if contradict > 0 {
		parts = append(parts, "the attempts at "+plural(contradict, "benchmark", "benchmarks")+" contradict each other")
	}
	return strings.Join(parts, "; ")
}
