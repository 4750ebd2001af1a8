package runner

import (
	"testing"

	"github.com/prbench/prbench/internal/job"
)

func TestWhatABenchmarkCanPrintPutsNoRunnerToRest(t *testing.T) {
	var s service
	for try := range job.MaxTries {
		s.count(job.Outcome{Kind: job.Fault, Clash: &job.Clash{Case: "a.js", Side: job.New}})
		if s.tired || s.faults != 0 {
			t.Errorf("after clash %d the runner counts %d faults, and is to rest: %v", try+1, s.faults, s.tired)
		}
	}
	s.count(job.Outcome{Kind: job.Fault})
	s.count(job.Outcome{Kind: job.Fault, Clash: &job.Clash{}})
	if s.count(job.Outcome{Kind: job.Fault}); !s.tired {
		t.Error("a clash between two faults has hidden the first")
	}
}
