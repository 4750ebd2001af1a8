package report_test

import (
	"testing"
	"time"

	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/report"
)

func TestProgressIsToldWithItsCaseItsLookAndTheTimeLeft(t *testing.T) {
	seconds := func(n int) job.Duration { return job.Duration(time.Duration(n) * time.Second) }
	for _, c := range []struct {
		p            job.Progress
		title, place string
	}{
		{job.Progress{}, "Starting", ""},
		{job.Progress{Phase: job.PhaseFetch}, "Fetch", ""},
		{job.Progress{Phase: job.PhaseBuildBase, Spent: seconds(40)}, "Build base: 40 s so far", ""},
		{job.Progress{Phase: job.PhaseBuildHead, Spent: seconds(40), PhaseLeft: seconds(130)},
			"Build head: 40 s so far, about 2 min left of it, as the last one took", ""},
		{job.Progress{Phase: job.PhaseMeasure, Done: 4, Total: 10, Left: seconds(90), Case: "s: a.js", CaseNumber: 1, Cases: 1, Pair: 2, Pairs: 5},
			"Measure: 4 of 10 runs, about 2 min left", "<s: a.js>, pair 2 of 5"},
		{job.Progress{Phase: job.PhaseMeasure, Done: 34, Total: 400, AtMost: true, Left: seconds(180), Look: 2, Looks: 6, LookLeft: seconds(40),
			Case: "s: a.js", CaseNumber: 3, Cases: 12, Pair: 9, Pairs: 15},
			"Measure: 34 of at most 400 runs, look 2 of 6 in about 40 s, about 3 min left at most", "<s: a.js>, case 3 of 12, pair 9 of 15"},
		{job.Progress{Phase: job.PhaseMeasure, Done: 34, Total: 40, Left: seconds(20), Look: 6, Looks: 6, LookLeft: seconds(20)},
			"Measure: 34 of 40 runs, look 6 of 6, about 20 s left", ""},
		// A runner may say anything.
		{job.Progress{Phase: job.PhaseMeasure, Done: 99, Total: 10, Look: 9, Looks: 6, Case: "x", CaseNumber: 7, Cases: 2, Pair: 8, Pairs: 3}, "Measure: 10 of 10 runs", "<x>"},
	} {
		if got := report.ProgressTitle(c.p); got != c.title {
			t.Errorf("got  %s\nwant %s", got, c.title)
		}
		if got := report.ProgressPlace(c.p, func(s string) string { return "<" + s + ">" }); got != c.place {
			t.Errorf("got  %s\nwant %s", got, c.place)
		}
	}
}

func TestABuildsTimeGoesOnBetweenWhatItsRunnerTells(t *testing.T) {
	at := time.Date(2024, 5, 6, 12, 0, 0, 0, time.UTC)
	p := job.Progress{Phase: job.PhaseBuildHead, PhaseLeft: job.Duration(time.Minute), At: at}
	if now := p.Now(at.Add(40 * time.Second)); now.Spent.Std() != 40*time.Second || now.PhaseLeft.Std() != 20*time.Second {
		t.Errorf("%+v", now)
	}
	if now := p.Now(at.Add(40 * time.Second)).Now(at.Add(2 * time.Minute)); now.Spent.Std() != 2*time.Minute || now.PhaseLeft != 0 {
		t.Errorf("longer than the last: %+v", now)
	}
	p.Phase = job.PhaseMeasure
	if now := p.Now(at.Add(time.Hour)); now.Spent != 0 {
		t.Errorf("what tells of each run: %+v", now)
	}
}
