package report

import (
	"cmp"
	"slices"
	"time"

	"github.com/prbench/prbench/internal/hostile"
	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/report/stats"
)

// Acceptance is an accepted regression beside the benchmark that has it.
type Acceptance struct {
	job.Accepted
	// Worse says that the benchmark is now shown to be worse than what was
	// accepted: its whole interval lies below Accepted.Worst.
	Worse bool
}

// InForce gives the accepted regressions that count for what was measured at a
// time: those that had not ended then, of each benchmark the one that was
// accepted last. One that was accepted after the measuring counts too.
func InForce(all []job.Accepted, measured time.Time) []job.Accepted {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b job.Accepted) int {
		return cmp.Or(cmp.Compare(a.Benchmark, b.Benchmark), b.At.Compare(a.At))
	})
	all = slices.CompactFunc(all, func(a, b job.Accepted) bool { return a.Benchmark == b.Benchmark })
	return slices.DeleteFunc(all, func(a job.Accepted) bool { return !a.Until.IsZero() && !a.Until.After(measured) })
}

// accept puts what was accepted beside the benchmarks that are, or may be, worse.
func (r *Report) accept(accepted []job.Accepted) {
	for _, a := range accepted {
		row := r.Row(a.Benchmark)
		if row == nil || row.OnlyOn != "" {
			continue
		}
		switch row.Verdict {
		case stats.Regression, stats.Slower:
			row.Accepted = &Acceptance{a, row.Interval[1] < a.Worst}
		case stats.SlowerWithin, stats.Inconclusive:
			row.Accepted = &Acceptance{Accepted: a}
		}
	}
}

// AllAccepted tells whether the roll-up regresses by nothing but what was
// accepted, and by no more.
func (r *Report) AllAccepted() bool {
	if r.RollUp == nil || r.RollUp.Verdict != stats.Regresses {
		return false
	}
	return !slices.ContainsFunc(r.Rows, func(row *Row) bool {
		return row.part() == partRegresses && (row.Accepted == nil || row.Accepted.Worse)
	})
}

// Text says who accepted what until when and why, foreign text put through quote.
func (a *Acceptance) Text(quote func(string) string) string {
	text := "accepted"
	if a.Worse {
		text = "worse than what was accepted"
	}
	if a.By != "" {
		text += " by " + quote(shorten(Visible(a.By), 60))
	}
	if !a.Until.IsZero() {
		text += " until " + a.Until.UTC().Format(time.DateOnly)
	}
	if a.Worse {
		text += " (down to " + percent(a.Worst) + ")"
	}
	if a.Reason != "" {
		text += ": " + quote(shorten(Visible(a.Reason), 200))
	}
	return text
}

type jsonAccepted struct {
	By     string     `json:"by"`
	Reason string     `json:"reason"`
	At     time.Time  `json:"at"`
	Until  *time.Time `json:"until"`
	Worst  optional   `json:"worst"`
	Worse  bool       `json:"worse"`
}

func (a *Acceptance) json() *jsonAccepted {
	if a == nil {
		return nil
	}
	out := &jsonAccepted{By: a.By, Reason: hostile.MaskTokens(a.Reason), At: a.At, Worst: optional(a.Worst), Worse: a.Worse}
	if !a.Until.IsZero() {
		out.Until = &a.Until
	}
	return out
}
