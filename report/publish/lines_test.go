package publish

import (
	"bytes"
	"testing"

	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/report/backport"
)

// The stream forgets samples after a time; a record keeps them for good.
func TestALineWhoseSamplesAreOldIsJudgedFromItsRecord(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	j := w.askLines("g", "v1.x")[0]
	l := w.claim()
	w.end(l, job.Outcome{Kind: job.Measured, Runs: 24, Pairs: 12, Picked: &job.Picked{Kind: job.PickApplies, SHA: tipOf("p")}})
	var samples bytes.Buffer
	_, err := backport.WriteSamples(&samples, func(yield func(job.Run, error) bool) {
		for i := range 24 {
			side := []job.SideName{job.Old, job.New}[i%2]
			run := job.Run{Suite: "speed", Side: side, Pair: i / 2, Samples: []job.Sample{{Benchmark: "Encode", Unit: "ns/op", Value: 100 + float64(i%3)/10}}}
			if !yield(run, nil) {
				return
			}
		}
	})
	w.ok(err)
	w.ok(w.store.PutRecord(t.Context(), j.ID, []byte("{}"), &samples))
	w.run(w.publisher())
	w.shown(j.ID)
	w.tells(w.matrix(), "on v1.x no benchmark is slower by more than 2 % (95 %)")
}

// What is composed anew after the samples are gone would take back what is shown.
func TestAReportWhoseSamplesAreGoneStaysAsItIs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run(w.publisher())
	old := w.ask(nil)
	w.end(w.claim(), job.Outcome{Kind: job.Measured, Runs: 24, Pairs: 12})
	w.shown(old.ID)
	before := w.said()
	_, err := w.store.Update(t.Context(), old.ID, func(j *job.Job) error {
		j.Published.Summary.Headline = "1 regression beyond 2 %"
		return nil
	})
	w.ok(err)
	_, err = w.store.Update(t.Context(), old.ID, func(j *job.Job) error { j.Refresh++; return nil })
	w.ok(err)
	w.await(old.ID, "is looked at again", func(j job.Job) bool { return j.Refresh > 0 && j.Published.Revision == j.Revision })
	if after := w.said(); len(before) != 1 || len(after) != 1 || before[0] != after[0] {
		t.Errorf("shown before: %q; after: %q", before, after)
	}
	w.ask(func(j *job.Job) { j.Spec.Filter = "Enc" })
	w.shown(w.measureLineless().ID)
	w.tells(w.matrix(), "1 unchanged within ±2 %", "Also measured: 1 regression beyond 2 %", "What was measured is not kept any more. Its report said: 1 regression beyond 2 %.")

	line := w.askLines("g", "v1.x")[0]
	w.end(w.claim(), job.Outcome{Kind: job.Measured, Runs: 24, Pairs: 12, Picked: &job.Picked{Kind: job.PickApplies, SHA: tipOf("p")}})
	if j := w.shown(line.ID); backport.CellOf(j, nil).Sentence() != "what was measured on v1.x is not kept any more" {
		t.Errorf("%s", backport.CellOf(j, nil).Sentence())
	}
}

// measureLineless does the next job, which is of no line.
func (w *world) measureLineless() job.Job {
	w.t.Helper()
	l := w.claim()
	w.pairs(l, 0, 12, 1)
	w.end(l, job.Outcome{Kind: job.Measured, Runs: 24, Pairs: 12, Host: job.Host{Name: "box"}})
	return l.Job
}
