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
