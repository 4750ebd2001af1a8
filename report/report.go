// Package report turns measured samples into an answer that people can act on:
// one stats.Comparison a benchmark, its verdict in plain words, and the same
// report as text (Node's compare.R), Markdown, JSON, CSV and a page.
//
// The way through it: a Collector groups samples into Data, Analyse judges them
// and gives a Report, and a renderer writes it. The words of a verdict are
// decided in one place (words.go). Whatever comes from benchmarks, logs and
// branches is hostile: renderers show its control characters, mask tokens and
// keep it inside code.
package report

import (
	"time"

	"github.com/prbench/prbench/internal/benchfmt"
	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/report/stats"
)

// Options says how Data is judged. The zero value judges a file with the
// default margin and level in a fixed design.
type Options struct {
	Margin float64 // a fraction in (0, 0.5]; 0: stats.DefaultMargin
	Alpha  float64 // 0: stats.DefaultAlpha
	// Analysis is "welch", "paired", or empty: paired with Looks, else welch.
	Analysis string
	// SuiteAnalysis is the analysis of single suites, where it is declared.
	SuiteAnalysis map[string]string
	// Runs is the fixed number of runs a side, 0 where the data say it. It is
	// not used with Looks.
	Runs  job.Runs
	Looks []int // the planned looks of an adaptive comparison
	// Attempt numbers the statistical repeats of this comparison from 1; 0
	// means 1. Earlier holds what the attempts before it found.
	Attempt int
	Earlier []Attempt
	// Independent says that each value of a file came from its own process,
	// whatever the format suggests.
	Independent bool
	// Counts are units that are compared exactly, beside the well-known ones
	// (allocs/op, B/op, instructions).
	Counts []string
	// Gate asks for the roll-up over all benchmarks.
	Gate bool
	// Accepted are the regressions that were accepted, those in force (InForce).
	Accepted []job.Accepted
	// About is what was compared, for the header and for the warnings that
	// come from there (host, outdated, harness, incomplete).
	About About
}

// Attempt is what an earlier attempt at the same comparison found, by
// benchmark (Row.ID).
type Attempt map[string]stats.Attempt

// About says what was compared, where and for whom. Every field may be empty;
// Refs, notes and host names are hostile text.
type About struct {
	Repository job.Repository
	PR         int
	Base, Head job.Side
	// Command is the wish as understood ("process --runs 30"), shown and made
	// part of the recipe to run it locally.
	Command string
	Suites  []string
	// Filtered says that only some of the benchmarks were asked for.
	Filtered bool
	Host     job.Host
	// Page is the address of the whole result, empty where there is none.
	Page     string
	Started  time.Time
	Finished time.Time
	Outdated bool
	// Stopped says who took the job back while it ran.
	Stopped *job.Cancel
	// Planned is the number of pairs planned for each case, 0 unknown.
	Planned int
	Attempt int // the number of this attempt, 0 unknown
	Notes   []string
	// Backport is set where the head is a change on the release line that is the base.
	Backport *job.Backport
	// LostTries says how tries that the infrastructure lost had ended.
	LostTries []string
	// Ledger lists every attempt at this comparison, this one included.
	Ledger []LedgerEntry
}

// LedgerEntry is one attempt in the list of all attempts.
type LedgerEntry struct {
	Attempt  int
	Finished time.Time
	Runs     string // "30", "adaptive"
	Headline string
	Page     string
}

// Side describes the usable samples of one side of a row.
type Side = stats.Summary

// Row is one benchmark of the report.
type Row struct {
	Key
	// ID is unique in a report: the name, with the unit where one is known.
	ID     string
	Better job.Better
	Case   string
	// Stat holds the numbers; Stat.Verdict is what this attempt alone says.
	Stat stats.Comparison
	// Verdict is the verdict of all attempts together; empty where there is none.
	Verdict stats.Verdict
	// Interval is the verdict's interval over all attempts, as improvements.
	Interval [2]float64
	// Words is the verdict in words; Why says more where the verdict is
	// not-comparable or missing ("3 runs, 5 needed", "0 → 2").
	Words string
	Why   string
	// OnlyOn is the one side that has the benchmark, empty where both have it.
	OnlyOn job.SideName
	// Twin says that another row measures the same thing in another unit (MB/s
	// beside ns/op): it is shown and not counted.
	Twin bool
	// Accepted is set where the benchmark is, or may be, worse and that was accepted.
	Accepted *Acceptance
	Warnings []Warning

	sentence string // the verdict as part of a sentence
	series   *Series
	combined stats.Combined
	printed  *benchfmt.TableRow // instead of series
}

// Warning is a code for machines and a sentence for people.
type Warning struct {
	Code string `json:"code"`
	Text string `json:"text"`
}

// Summary counts the rows.
type Summary struct {
	Compared int
	// ByVerdict counts the compared rows; stats.NoVerdict is a key of it too.
	ByVerdict map[stats.Verdict]int
	OnlyOld   []string
	OnlyNew   []string
	// FalseStars are the numbers of stars to expect if nothing changed, at
	// stats.StarLevels.
	FalseStars [3]float64
}

// jsonSchema is the version of the JSON report.
const jsonSchema = 1

// Report is the judged comparison.
type Report struct {
	Design   stats.Design // with its defaults filled in
	Runs     job.Runs     // Adaptive, or the number of runs a side
	Rows     []*Row       // worst first; one-sided benchmarks last
	Summary  Summary
	Warnings []Warning
	// RollUp is the one verdict over all benchmarks, with Options.Gate.
	RollUp *stats.RollUp
	About  About
	Data   *Data
}

// Row finds a row by its ID or, where that is unambiguous, by its name.
func (r *Report) Row(name string) *Row {
	var found *Row
	for _, row := range r.Rows {
		if row.ID == name {
			return row
		}
		if row.Name() == name {
			if found != nil {
				return nil
			}
			found = row
		}
	}
	return found
}
