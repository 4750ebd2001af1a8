// Package backport answers a release manager's question: is this change safe on
// that release line? A line is a Cell, the lines of a pull request's head are a
// Matrix, and the decision on one line is kept as a Record that anybody can check
// later: against its samples (Verify) and against the repository (Standing).
//
// The words of a cell and of a matrix are decided in words.go; those of the
// statistics are report's.
package backport

import (
	"slices"

	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/report"
	"github.com/prbench/prbench/report/stats"
)

// Kind is what is known of a change on a release line. Each end of a line's job
// is one of them; none is an error.
type Kind string

// The kinds of a cell.
const (
	Waiting Kind = "waiting"
	Running Kind = "running"
	// Safe, Regresses and Inconclusive are the roll-up's verdict; Accepted is
	// Regresses where every regression was accepted before.
	Safe         Kind = "safe"
	Regresses    Kind = "regresses"
	Accepted     Kind = "regresses-accepted"
	Inconclusive Kind = "inconclusive"
	// Contained: the change is in the line already.
	Contained Kind = "already-in"
	Conflicts Kind = "conflicts"
	// LineBroken and ChangeBroken: the line itself, or the change on it, does not build.
	LineBroken   Kind = "line-does-not-build"
	ChangeBroken Kind = "change-does-not-build"
	// NoBenchmarks: the benchmarks do not exist on the line.
	NoBenchmarks Kind = "no-benchmarks"
	Unfetched    Kind = "not-fetched"
	Fault        Kind = "fault"
	Cancelled    Kind = "cancelled"
	// Forgotten: it was measured, and the samples are not kept any more.
	Forgotten Kind = "not-kept"
)

// Kinds lists the kinds in the order of the headline: what needs a decision first.
func Kinds() []Kind {
	return []Kind{Regresses, Accepted, Inconclusive, Conflicts, ChangeBroken, LineBroken, NoBenchmarks,
		Unfetched, Fault, Cancelled, Forgotten, Safe, Contained, Running, Waiting}
}

// Ended tells whether nothing more is to be expected of the line.
func (k Kind) Ended() bool { return k != Waiting && k != Running }

// Decided tells whether the kind says something about the change on the line, so
// that a record of it is worth keeping.
func (k Kind) Decided() bool {
	return k.Ended() && k != Unfetched && k != Fault && k != Cancelled && k != Forgotten
}

// Cell is a change on one release line.
type Cell struct {
	Line string // as people call it; hostile text
	Tip  string // the SHA of the line's last commit
	// Ran says which benchmarks ran, where the tip has cells of several commands;
	// hostile text.
	Ran  string
	Kind Kind
	// Place says where a waiting line stands, Progress how far a running one is;
	// both in words, and empty where that is not known.
	Place, Progress string
	// Picked is how the change went onto the line; nil: that was not reached.
	Picked *job.Picked
	// Report is the judged comparison; nil where there is none.
	Report *report.Report
	// Outcome is how the line's job ended; nil while it has not.
	Outcome *job.Outcome
	// Outdated is set when the line has moved since, and is asked for anew.
	Outdated bool
	Page     string // the address of the whole result, empty where there is none
	By       string // who cancelled it
}

// CellOf gives the cell of a backport's job. r is what it measured, judged with
// report.OptionsOf, nil where nothing was.
func CellOf(j job.Job, r *report.Report) Cell {
	c := Cell{Tip: j.Base.SHA, Outcome: j.Outcome, Report: r}
	if j.Backport != nil {
		c.Line = j.Backport.Line
	}
	if j.Outcome != nil {
		c.Picked = j.Outcome.Picked
	}
	if j.Cancel != nil {
		c.By = j.Cancel.By
	}
	if r != nil {
		c.Page = r.About.Page
	}
	c.Kind = kindOf(j, r)
	return c
}

func kindOf(j job.Job, r *report.Report) Kind {
	switch {
	case j.State == job.Queued:
		return Waiting
	case j.State == job.Running:
		return Running
	case j.Outcome == nil:
		if j.State == job.Cancelled {
			return Cancelled
		}
		return Fault
	case r != nil && r.RollUp != nil:
		return measuredKind(r)
	}
	switch o := j.Outcome; o.Kind {
	case job.NotPicked:
		if o.Picked != nil && o.Picked.Kind == job.PickThere {
			return Contained
		}
		return Conflicts
	case job.BuildFailed:
		if o.Side == job.Old {
			return LineBroken
		}
		return ChangeBroken
	case job.NothingMeasured:
		return NoBenchmarks
	case job.Measured:
		return Forgotten
	case job.CheckoutFailed:
		return Unfetched
	case job.Stopped:
		return Cancelled
	}
	return Fault
}

// measuredKind is the kind of a line that was measured.
func measuredKind(r *report.Report) Kind {
	s := r.Summary
	switch {
	case r.About.Stopped != nil && s.ByVerdict[stats.NoVerdict] == s.Compared:
		return Cancelled // before its first look
	case s.Compared == 0 && len(s.OnlyNew) > 0 && len(s.OnlyOld) == 0 && len(r.Data.Losses) == 0:
		return NoBenchmarks // only the change has any
	case r.RollUp.Verdict == stats.Safe:
		return Safe
	case r.AllAccepted():
		return Accepted
	case r.RollUp.Verdict == stats.Regresses:
		return Regresses
	}
	return Inconclusive
}

// Matrix is a change on several release lines.
type Matrix struct {
	Repository job.Repository
	PR         int // 0: a change of a local repository
	Head       job.Side
	Change     job.Change
	Spec       job.Spec // what was asked for; of the newest command where there are several
	Cells      []Cell   // in the order asked for; outdated ones behind that of their line's present tip
	// Outdated says that the pull request has a newer head.
	Outdated bool
	// Main is the change compared with its own base; nil: that was not measured.
	Main *report.Report
}

// lines are the names of the lines, each once.
func (m *Matrix) lines() []string {
	var out []string
	for _, c := range m.Cells {
		if !slices.Contains(out, c.Line) {
			out = append(out, c.Line)
		}
	}
	return out
}

// present are the cells of the lines' present tips.
func (m *Matrix) present() []Cell {
	return slices.DeleteFunc(slices.Clone(m.Cells), func(c Cell) bool { return c.Outdated })
}

// Ended tells whether nothing more is to be expected of any line.
func (m *Matrix) Ended() bool {
	return !slices.ContainsFunc(m.present(), func(c Cell) bool { return !c.Kind.Ended() })
}

// Conclusion is how the check run of the matrix ends: it fails where a line
// regresses by what nobody accepted, succeeds where the change is safe on all
// lines or in them already, and is neutral otherwise.
func (m *Matrix) Conclusion() report.Conclusion {
	out := report.Success
	present := m.present()
	if len(present) == 0 {
		return report.Neutral
	}
	for _, c := range present {
		switch c.Kind {
		case Regresses:
			return report.Failed
		case Safe, Contained:
		default:
			out = report.Neutral
		}
	}
	return out
}

// Check is the check run of a matrix that has ended.
func (m *Matrix) Check() report.Check {
	return report.Check{Title: report.Short(m.Headline(), titleColumns), Summary: m.Markdown(), Conclusion: m.Conclusion()}
}

// titleColumns bounds a check run's title.
const titleColumns = 200
