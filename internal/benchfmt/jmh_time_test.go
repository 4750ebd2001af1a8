package benchfmt

import (
	"strings"
	"testing"

	"github.com/prbench/prbench/internal/job"
)

// JMH's iterations last the same time: total work over total time is their
// plain mean, 200 and not the harmonic 163.6.
func TestJMHIterationsOfOneForkAreCombinedAsTheyLasted(t *testing.T) {
	const out = `[{"benchmark":"a.B","mode":"thrpt","measurementTime":"10 s","primaryMetric":{"scoreUnit":"ops/s","rawData":[[100,200,300]]}}]`
	samples, problems, err := ReadProcess(strings.NewReader(out), Options{Format: job.FormatJMH})
	if err != nil || problems.Count != 0 || len(samples) != 1 || samples[0].Value != 200 {
		t.Errorf("got %+v, %v, %v", samples, problems.Quoted(), err)
	}
	for text, want := range map[string]float64{"10 s": 10, "500 ms": .5, "1 min": 60, "": 0, "x s": 0, "5 parsecs": 0, "-1 s": 0} {
		if got := jmhSeconds(text); got != want {
			t.Errorf("%q: got %v, want %v", text, got, want)
		}
	}
}
