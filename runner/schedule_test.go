package runner

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/internal/testlog"
	"github.com/prbench/prbench/runner/calibrate"
	"github.com/prbench/prbench/runner/sandbox"
)

// slowAndFast holds the runs of a benchmark whose results differ.
func slowAndFast() *calibrate.Tally {
	tally := calibrate.NewTally()
	for pair := range 8 {
		for i, side := range []job.SideName{job.Old, job.New} {
			tally.Add(job.Run{Suite: "s", Side: side, Pair: pair, Samples: []job.Sample{{Benchmark: "b", Unit: "ops/s", Value: float64(100 + pair*(1+i)%5)}}})
		}
	}
	return tally
}

// The schedule goes by the date of the kept calibration, whoever made it and
// whichever process asks.
func TestACalibrationIsDueByTheDateOfTheLast(t *testing.T) {
	box, err := sandbox.New(t.Context(), sandbox.Config{Kind: sandbox.None})
	if err != nil {
		t.Fatal(err)
	}
	s := &service{Options: Options{Logger: slog.New(slog.DiscardHandler), Work: t.TempDir(), Sandbox: box, CalibrateEvery: 7 * 24 * time.Hour}}
	s.keepLast(&measuredBefore{Spec: job.Spec{Runs: 8}})
	if s.last = s.findLast(); s.last == nil || s.last.Spec.Runs != 8 {
		t.Fatalf("found %+v", s.last)
	}
	tally := slowAndFast()
	now := time.Now()
	if !s.calibrationDue(now) {
		t.Error("a machine that was never calibrated")
	}
	for name, c := range map[string]struct {
		age time.Duration
		due bool
		bad string
	}{
		"an hour ago":                         {time.Hour, false, ""},
		"two days ago, every week":            {48 * time.Hour, false, ""},
		"two days ago, on an unfit machine":   {48 * time.Hour, true, "it swapped"},
		"an hour ago, on an unfit machine":    {time.Hour, false, "it swapped"},
		"two weeks ago":                       {14 * 24 * time.Hour, true, ""},
		"tomorrow, by a clock that was wrong": {-24 * time.Hour, true, ""},
	} {
		r, err := tally.Judge(job.Spec{Runs: 8, Margin: .02, Alpha: .05}, job.Side{}, hostFacts(hostRoot, "", box.Facts()), now.Add(-c.age))
		if err != nil {
			t.Fatal(err)
		}
		if c.bad != "" {
			r.Host.Unfit = []string{c.bad}
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

// A runner looks at it twice in each turn, and a turn may take ten seconds.
func TestAKeptCalibrationThatDoesNotHoldIsLeftOutAndSaidOnce(t *testing.T) {
	box, err := sandbox.New(t.Context(), sandbox.Config{Kind: sandbox.None})
	if err != nil {
		t.Fatal(err)
	}
	here := hostFacts(hostRoot, "", box.Facts())
	kept := func(change func(*job.Host)) func(path string) error {
		return func(path string) error {
			h := here
			change(&h)
			r, err := slowAndFast().Judge(job.Spec{Runs: 8, Margin: .02, Alpha: .05}, job.Side{}, h, time.Now())
			if err != nil {
				return err
			}
			return r.Write(path)
		}
	}
	for name, c := range map[string]struct {
		write func(path string) error
		says  string
	}{
		"another CPU":      {kept(func(h *job.Host) { h.CPU = "another" }), "another machine's"},
		"another kernel":   {kept(func(h *job.Host) { h.Setup = strings.Replace(h.Setup, "kernel ", "kernel 1", 1) }), "set up in another way"},
		"other CPUs":       {kept(func(h *job.Host) { h.Setup = strings.Replace(h.Setup, "on any CPU", "on CPUs 2-3", 1) }), "set up in another way"},
		"another governor": {kept(func(h *job.Host) { h.Setup += "; the frequency governor is powersave" }), "set up in another way"},
		"a broken file":    {func(path string) error { return os.WriteFile(path, []byte("{"), 0o600) }, "bot calibrate --out"},
	} {
		var log testlog.Buffer
		s := &service{Options: Options{Logger: slog.New(slog.NewTextHandler(&log, nil)), Work: t.TempDir(), Sandbox: box, CalibrateEvery: time.Hour}}
		path := filepath.Join(s.Work, CalibrationFile)
		if err := c.write(path); err != nil {
			t.Fatal(err)
		}
		for range 5 {
			s.tellCalibration(t.Context())
			if s.calibrationDue(time.Now()) {
				t.Errorf("%s: it is due, with nothing to measure", name)
			}
		}
		if n := strings.Count(log.String(), "level=WARN"); n != 1 || !strings.Contains(log.String(), c.says) {
			t.Errorf("%s: %d warnings, want one that says %q:\n%s", name, n, c.says, log.String())
		}
		// Another reason is another warning.
		if err := errors.Join(kept(func(h *job.Host) {})(path), os.Chmod(path, 0o600)); err != nil {
			t.Fatal(err)
		}
		if s.calibration() == nil {
			t.Errorf("%s: the one that holds is left out:\n%s", name, log.String())
		}
		if err := c.write(path); err != nil {
			t.Fatal(err)
		}
		if s.calibration() != nil || strings.Count(log.String(), "level=WARN") != 2 {
			t.Errorf("%s: broken again:\n%s", name, log.String())
		}
	}
}
