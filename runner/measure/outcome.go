package measure

import (
	"fmt"
	"slices"
	"time"

	"github.com/prbench/prbench/internal/job"
)

// maxEndNotes bounds how many cases are named that ended early.
const maxEndNotes = 10

// outcome sums the measuring up.
func (l *loop) outcome() job.Outcome {
	o := job.Outcome{Kind: job.Measured}
	if l.failed != nil {
		o = *l.failed
	}
	o.Runs = l.runs
	o.Pairs = l.looks[len(l.looks)-1]
	o.WallSeconds = l.Now().Sub(l.began).Seconds()
	o.ChildSeconds = l.child
	o.Notes = append(l.notes, l.endNotes()...)
	if l.taken > 0 {
		o.Notes = append(o.Notes, fmt.Sprintf("the runner was stopped after %d of the runs, and went on later with the same builds", l.taken))
	}
	if l.failed != nil {
		return o
	}
	samples := 0
	for _, t := range l.turns {
		samples += t.samples
	}
	bad, side := l.firstFailure()
	if samples == 0 {
		o.Kind = job.NothingMeasured
		o.Text = "the benchmarks ran and printed no result that could be read"
		o.Log = l.turns[0].silent
		if l.filter != nil {
			o.Text = fmt.Sprintf("no case and no benchmark matches the filter %q", l.Spec.Filter)
		}
	}
	if bad != nil {
		o.Side = side
		o.Text = fmt.Sprintf("%s failed: %s, %s", side.WordOn(l.Line), bad.Label(), howEnded(bad.first[side]))
		o.Log = bad.first[side].Log
	}
	return o
}

// firstFailure finds the case that tells best what went wrong: one that never
// ran well on a side, the base where both fail alike (then the pull request is
// not to blame); else any failed run, the head's first.
func (l *loop) firstFailure() (*turn, job.SideName) {
	for _, t := range l.turns {
		for _, side := range []job.SideName{job.Old, job.New} {
			if t.bad[side] > 0 && t.ok[side] == 0 {
				return t, side
			}
		}
	}
	for _, t := range l.turns {
		for _, side := range []job.SideName{job.New, job.Old} {
			if t.bad[side] > 0 {
				return t, side
			}
		}
	}
	return nil, ""
}

func (l *loop) endNotes() []string {
	var notes []string
	more := 0
	for _, t := range l.turns {
		switch {
		case t.ended == "":
		case len(notes) < maxEndNotes:
			notes = append(notes, t.ended)
		default:
			more++
		}
	}
	if more > 0 {
		notes = append(notes, fmt.Sprintf("%d more cases ended early", more))
	}
	return notes
}

func howEnded(r job.Run) string {
	switch {
	case r.TimedOut:
		return fmt.Sprintf("timed out after %.0f s", r.Wall)
	case r.Limit != "":
		return "hit its limit of " + r.Limit
	case r.Signal != "":
		return "ended by " + r.Signal
	}
	return fmt.Sprintf("exit %d", r.Exit)
}

// tell reports how far the measuring has come.
func (l *loop) tell(t *turn) {
	if l.Progress == nil {
		return
	}
	now := l.Now()
	total, left := l.rest(now)
	p := job.Progress{Phase: job.PhaseMeasure, Done: l.runs, Total: total, AtMost: l.rule != nil && l.at < len(l.looks)-1,
		Left: job.Duration(left), Case: t.Label(), CaseNumber: slices.Index(l.turns, t) + 1, Cases: len(l.turns),
		Pair: t.pairs + 1, Pairs: l.looks[l.at], At: now}
	if l.rule != nil {
		p.Look, p.Looks = l.at+1, len(l.looks)
		if !slices.ContainsFunc(l.turns, func(t *turn) bool { return t.active() && t.pairs == 0 }) {
			p.LookLeft = job.Duration(l.timeTo(l.looks[l.at]).Round(time.Second))
		}
	}
	l.Progress(p)
}

// rest gives the number of runs planned and the time that the missing ones will
// take: what each case's pairs have taken so far, and for a case that has no
// whole pair yet the mean of the others, or of all single runs in the first
// round.
func (l *loop) rest(now time.Time) (total int, left time.Duration) {
	var pairs int
	var spent time.Duration
	for _, t := range l.turns {
		pairs += t.pairs
		spent += t.spent
	}
	mean := now.Sub(l.began) / time.Duration(max(l.runs, 1)) * 2
	if pairs > 0 {
		mean = spent / time.Duration(pairs)
	}
	for _, t := range l.turns {
		done := t.bad[job.Old] + t.bad[job.New] + t.ok[job.Old] + t.ok[job.New]
		if !t.active() {
			total += done
			continue
		}
		planned := l.planned(t) * len(t.Sides)
		total += planned
		each := mean
		if t.pairs > 0 {
			each = t.spent / time.Duration(t.pairs)
		}
		left += each * time.Duration(planned-done) / time.Duration(len(t.Sides))
	}
	return total, left.Round(time.Second)
}
