package main

import (
	"bytes"
	"testing"
	"time"

	"github.com/prbench/prbench/internal/job"
)

func TestWithoutATerminalEachPhaseAndNowAndThenTheCaseIsALine(t *testing.T) {
	var out bytes.Buffer
	bar := newProgress(&out)
	at := time.Date(2024, 5, 6, 12, 0, 0, 0, time.UTC)
	bar.show(job.Progress{Phase: job.PhaseBuildBase, At: at})
	bar.show(job.Progress{Phase: job.PhaseBuildHead, PhaseLeft: job.Duration(2 * time.Minute), At: at.Add(2 * time.Minute)})
	measuring := job.Progress{Phase: job.PhaseMeasure, At: at.Add(2*time.Minute + 41*time.Second)}
	bar.show(measuring)
	measuring.Done, measuring.Total, measuring.AtMost, measuring.Left = 34, 400, true, job.Duration(3*time.Minute)
	measuring.Look, measuring.Looks, measuring.Case, measuring.Pair, measuring.Pairs = 2, 6, "process: a\x1b[2J.js", 9, 15
	bar.show(measuring) // too soon for a line
	bar.said = time.Now().Add(-lineEvery)
	bar.show(measuring)
	bar.end()
	want := `build base…
build base: took 2 min
build head… about 2 min left of it, as the last one took
build head: took 41 s
measure…
34 of at most 400 runs, look 2 of 6, about 3 min left at most; at process: a\x1b[2J.js, pair 9 of 15
`
	if got := out.String(); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}
