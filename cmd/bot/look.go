package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/prbench/prbench/report"
	"github.com/prbench/prbench/runner/measure"
)

// named is how many benchmarks a line of a look names.
const named = 3

// lookLines say what a look found: the counts, and by name what it resolved,
// what it found futile, and what stays open, the noisiest first.
func lookLines(l measure.Look, margin float64) []string {
	resolved, futile, open := l.Counts()
	head := fmt.Sprintf("look %d of %d (%d pairs): %d resolved, %d futile, %d open", l.Number, l.Planned, l.Pairs, resolved, futile, open)
	if !l.Last && l.Left > 0 {
		head += fmt.Sprintf("; at most %s left", leftText(l.Left))
	}
	lines := []string{head}
	add := func(what string, pick func(measure.Judged) bool, say func(measure.Judged) string) {
		var of []measure.Judged
		for _, b := range l.Benchmarks {
			if pick(b) {
				of = append(of, b)
			}
		}
		if len(of) == 0 {
			return
		}
		slices.SortStableFunc(of, noisiest)
		var parts []string
		for _, b := range of[:min(named, len(of))] {
			parts = append(parts, lookName(b)+" ("+say(b)+")")
		}
		if more := len(of) - named; more > 0 {
			parts = append(parts, fmt.Sprintf("%d more", more))
		}
		lines = append(lines, fmt.Sprintf("  %s: %s", what, strings.Join(parts, ", ")))
	}
	add("resolved now", func(b measure.Judged) bool { return b.Fresh && b.Resolved }, func(b measure.Judged) string {
		return report.VerdictWords(b.Verdict, b.ByMargin, b.Unit, margin)
	})
	add("futile now", func(b measure.Judged) bool { return b.Fresh && b.Futile && !b.Resolved }, spreadText)
	add("open", func(b measure.Judged) bool { return !b.Resolved && !b.Futile }, spreadText)
	return lines
}

func noisiest(a, b measure.Judged) int {
	switch {
	case a.CV > b.CV:
		return -1
	case a.CV < b.CV:
		return +1
	}
	return 0
}

func lookName(b measure.Judged) string {
	name := report.Visible(b.Name)
	if b.Unit != "" && b.Unit != "ops/s" {
		name += " [" + report.Visible(b.Unit) + "]"
	}
	return name
}

// spreadText is the spread of one run, which decides how long a benchmark takes.
func spreadText(b measure.Judged) string {
	if !(b.CV > 0) {
		return "no spread known yet"
	}
	return fmt.Sprintf("cv %.2g %%", 100*b.CV)
}
