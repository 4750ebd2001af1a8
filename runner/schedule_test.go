package runner

import (
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/runner/calibrate"
	"github.com/prbench/prbench/runner/sandbox"
)

// The schedule goes by the date of the kept calibration, whoever made it and
// whichever process asks.
func TestACalibrationIsDueByTheDateOfTheLast(t *testing.T) {
	box, err := sandbox.New(t.Context(), sandbox.Config{Kind: sandbox.None})
	if err != nil {
		t.Fatal(err)
	}
	s := &service{Options: Options{Logger: slog.New(slog.DiscardHandler), Work: t.TempDir(), Sandbox: box, CalibrateEvery: 24 * time.Hour}}
	s.keepLast(&measuredBefore{Spec: job.Spec{Runs: 8}})
	if s.last = s.findLast(); s.last == nil || s.last.Spec.Runs != 8 {
		t.Fatalf("found %+v", s.last)
	}
	tally := calibrate.NewTally()
	for pair := range 8 {
		for i, side := range []job.SideName{job.Old, job.New} {
			tally.Add(job.Run{Suite: "s", Side: side, Pair: pair, Samples: []job.Sample{{Benchmark: "b", Unit: "ops/s", Value: float64(100 + pair*(1+i)%5)}}})
		}
	}
	now := time.Now()
	if !s.calibrationDue(now) {
		t.Error("a machine that was never calibrated")
	}
	for name, c := range map[string]struct {
		age time.Duration
		due bool
	}{
		"an hour ago":                         {time.Hour, false},
		"two days ago":                        {48 * time.Hour, true},
		"tomorrow, by a clock that was wrong": {-24 * time.Hour, true},
	} {
		r, err := tally.Judge(job.Spec{Runs: 8, Margin: .02, Alpha: .05}, job.Side{}, hostFacts(hostRoot, "", box.Facts()), now.Add(-c.age))
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Write(filepath.Join(s.Work, CalibrationFile)); err != nil {
			t.Fatal(err)
		}
		if got := s.calibrationDue(now); got != c.due {
			t.Errorf("%s: due %v", name, got)
		}
	}
	s.keepLast(nil)
	if s.last = s.findLast(); s.last != nil || s.calibrationDue(now) {
		t.Errorf("a runner that has nothing to measure: %+v", s.last)
	}
}
