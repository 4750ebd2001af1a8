package runner

import (
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/internal/testlog"
	"github.com/prbench/prbench/runner/sandbox"
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

func TestAMachineIsLookedAtWhenNoOtherRunnerMeasuresOnIt(t *testing.T) {
	box, err := sandbox.New(t.Context(), sandbox.Config{Kind: sandbox.None})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	var log testlog.Buffer
	s := service{Options: Options{Work: dir, Sandbox: box, HostLock: filepath.Join(dir, "lock"), Logger: slog.New(slog.NewTextHandler(&log, nil))}}
	other, err := tryLock(s.HostLock)
	if err != nil || other == nil {
		t.Fatal(other, err)
	}
	looked := make(chan error, 1)
	go func() { looked <- s.fit(t.Context()) }()
	for deadline := time.Now().Add(time.Minute); !strings.Contains(log.String(), "another runner works on this machine"); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) || len(looked) > 0 {
			t.Fatal("it did not wait for the other runner")
		}
	}
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-looked; err != nil {
		t.Error(err)
	}
	if again, err := tryLock(s.HostLock); err != nil || again == nil {
		t.Errorf("the look has kept the machine: %v", err)
	} else if err := again.Close(); err != nil {
		t.Error(err)
	}
}
