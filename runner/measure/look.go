package measure

import (
	"time"

	"github.com/prbench/prbench/report/stats"
)

// Look is what an adaptive measuring found at one of its planned looks.
type Look struct {
	Number, Planned int // from 1
	Pairs           int // attempted of each case that was still measured
	// Last says that nothing is measured after this look.
	Last bool
	// Benchmarks are those of all cases, but for cases that ended early, in the
	// order in which they were first seen. One that a case settled at an earlier
	// look stands as of then.
	Benchmarks []Judged
	// Left is about how long the rest takes at most; 0 where nothing is known.
	Left time.Duration
}

// Judged is a benchmark at a look.
type Judged struct {
	Name, Unit string // hostile text
	Case       Case
	// Fresh says that it is this look that resolved it or found it futile.
	Fresh bool
	stats.Outcome
}

// Counts tells how many benchmarks are resolved, futile and open.
func (l Look) Counts() (resolved, futile, open int) {
	for _, b := range l.Benchmarks {
		switch {
		case b.Resolved:
			resolved++
		case b.Futile:
			futile++
		default:
			open++
		}
	}
	return resolved, futile, open
}

// tellLook reports a look.
func (l *loop) tellLook(look int, more bool) {
	if l.Looked == nil {
		return
	}
	out := Look{Number: look + 1, Planned: len(l.looks), Pairs: l.looks[look], Last: !more}
	for _, t := range l.turns {
		if t.ended != "" {
			continue
		}
		for _, b := range t.tested.deciding() {
			out.Benchmarks = append(out.Benchmarks, Judged{Name: b.name, Unit: b.unit, Case: t.Case,
				Fresh: b.fresh && b.Look == look+1, Outcome: b.Outcome})
		}
	}
	if more {
		_, out.Left = l.rest(l.Now())
	}
	l.Looked(out)
}
