package measure

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/prbench/prbench/internal/job"
)

// BenchmarkLook is the last look at 500 cases of 10 benchmarks each: the most
// that the loop waits for between two runs of a large job.
func BenchmarkLook(b *testing.B) {
	r, err := newRule(job.Spec{Runs: job.Adaptive, Suites: []job.Suite{{Name: "s"}}}, 1, []int{8, 15, 25, 40, 65, 100})
	if err != nil {
		b.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	turns := make([]*turn, 500)
	for i := range turns {
		turns[i] = &turn{Case: Case{Suite: job.Suite{Name: "s"}}, pairs: 100}
		for run := range 200 {
			rec := job.Run{Pair: run / 2, Side: []job.SideName{job.Old, job.New}[run%2]}
			for n := range 10 {
				rec.Samples = append(rec.Samples, job.Sample{Benchmark: fmt.Sprint("b", n), Unit: "ns/op", Value: 100 + rng.NormFloat64()})
			}
			turns[i].tested.add(rec)
		}
	}
	for b.Loop() {
		for _, t := range turns {
			t.settled = false
		}
		r.look(turns)
	}
}
