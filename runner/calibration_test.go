package runner_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/runner"
	"github.com/prbench/prbench/runner/calibrate"
)

// uneven is a project whose benchmark's results differ from run to run.
func uneven(pause string) map[string]string {
	return map[string]string{"build.sh": "#!/bin/sh\nset -e\ncat > run <<'END'\n#!/bin/sh\nsleep " + pause +
		"\necho \"$1 n=1: $((10000 + $(od -An -N1 -tu1 /dev/urandom))).5\"\nEND\nchmod +x run\n"}
}

func TestAnIdleRunnerMeasuresItsMachineAndTellsItInItsReports(t *testing.T) {
	t.Parallel() // most of it is waiting
	w := newWorld(t, uneven("0"), nil)
	w.opts.CalibrateEvery = time.Hour
	stop := w.start(w.opts)
	first := w.wait(w.create(spec()).ID, "ends", ended)
	if first.Outcome.Kind != job.Measured || first.Outcome.Host.Calibration != nil {
		t.Fatalf("the first job: %+v", first.Outcome)
	}
	w.until("serve knows what the machine sees", func() bool {
		all, err := w.q.Calibrations(t.Context(), "default")
		return err == nil && len(all) == 1 && all[0].Name == "r1" && all[0].Suite == "s" && all[0].Pairs == int(calibrate.Runs)
	})
	r, err := calibrate.Read(filepath.Join(w.opts.Work, runner.CalibrationFile))
	if err != nil {
		t.Fatal(err)
	}
	if r.Commit.SHA != w.base || r.Host.Name != "bench-1" || len(r.Benchmarks) != 1 || r.Benchmarks[0].CV == nil {
		t.Errorf("kept: %+v", r)
	}
	second := w.wait(w.create(spec()).ID, "ends", ended)
	if c := second.Outcome.Host.Calibration; c == nil || !c.At.Equal(r.At) || c.CV != *r.Summary.CV.Median {
		t.Errorf("the second job: %+v", second.Outcome.Host)
	}
	if c := second.Outcome.Host.Calibration; c != nil && (c.Suite != "s" || c.Elsewhere) {
		t.Errorf("its own suite is not named: %+v", c)
	}
	// What another repository has measured is nobody else's to read.
	w.repo.ID++
	third := w.wait(w.create(spec()).ID, "ends", ended)
	if c := third.Outcome.Host.Calibration; c == nil || c.Suite != "" || !c.Elsewhere || c.Pairs != int(calibrate.Runs) {
		t.Errorf("another repository's job: %+v", c)
	}
	// The base went back to where later jobs find it.
	if n := strings.Count(w.log.String(), "the base was built before"); n != 1 {
		t.Errorf("the second job found the built base %d times", n)
	}
	stop() // a runner at work may have a folder of a job
	w.nothingLeft()
}

func TestAJobEndsACalibrationAndKeepsItsBase(t *testing.T) {
	t.Parallel()                       // most of it is waiting
	w := newWorld(t, uneven("1"), nil) // a calibration takes a minute
	w.opts.CalibrateEvery = time.Hour
	stop := w.start(w.opts)
	w.wait(w.create(spec()).ID, "ends", ended)
	w.until("it calibrates", func() bool { return strings.Contains(w.log.String(), "the machine is measured against itself") })
	j := w.wait(w.create(spec()).ID, "ends", ended)
	if j.Outcome.Kind != job.Measured || j.Try != 1 {
		t.Errorf("%+v", j.Outcome)
	}
	stop()
	if _, err := os.Stat(filepath.Join(w.opts.Work, runner.CalibrationFile)); !os.IsNotExist(err) {
		t.Errorf("half a calibration was kept: %v", err)
	}
	if !strings.Contains(w.log.String(), "the base was built before") || strings.Contains(w.log.String(), "was not calibrated") {
		t.Error("the base was lost, or the job taken for a failure")
	}
	w.nothingLeft()
}

func TestARunnerThatIsStartedAgainCalibratesWithoutAJob(t *testing.T) {
	t.Parallel() // most of it is waiting
	w := newWorld(t, uneven("0"), nil)
	w.opts.CalibrateEvery = time.Hour
	stop := w.start(w.opts)
	w.wait(w.create(spec()).ID, "ends", ended)
	stop() // before it has been idle for long
	if _, err := os.Stat(filepath.Join(w.opts.Work, runner.CalibrationFile)); !os.IsNotExist(err) {
		t.Fatalf("it was calibrated already: %v", err)
	}
	stop = w.start(w.opts)
	w.until("it is calibrated", func() bool {
		r, err := calibrate.Read(filepath.Join(w.opts.Work, runner.CalibrationFile))
		return err == nil && r.Commit.SHA == w.base
	})
	stop()
	// The next one is due in an hour, whoever asks.
	stop = w.start(w.opts)
	w.goesOn(spec())
	stop()
	if n := strings.Count(w.log.String(), "the machine is measured against itself"); n != 1 {
		t.Errorf("it was calibrated %d times", n)
	}
	w.nothingLeft()
}

func TestACalibrationOfAnotherMachineIsLeftOut(t *testing.T) {
	w := newWorld(t, nil, nil)
	tally := calibrate.NewTally()
	for pair := range 8 {
		for i, side := range []job.SideName{job.Old, job.New} {
			tally.Add(job.Run{Suite: "s", Side: side, Pair: pair, Samples: []job.Sample{{Benchmark: "b", Unit: "ops/s", Value: float64(100 + pair*(1+i)%5)}}})
		}
	}
	s := spec()
	s.Runs, s.Margin, s.Alpha = 8, .02, .05
	r, err := tally.Judge(s, job.Side{}, job.Host{CPU: "another", Cores: 64}, time.Now())
	if err != nil || r.Sees() == nil {
		t.Fatalf("%v, %+v", err, r)
	}
	if err := os.MkdirAll(w.opts.Work, 0o711); err != nil {
		t.Fatal(err)
	}
	if err := r.Write(filepath.Join(w.opts.Work, runner.CalibrationFile)); err != nil {
		t.Fatal(err)
	}
	w.start(w.opts)
	if j := w.wait(w.create(spec()).ID, "ends", ended); j.Outcome.Host.Calibration != nil || !strings.Contains(w.log.String(), "another machine's") {
		t.Errorf("%+v", j.Outcome.Host)
	}
}

// until waits until something is so.
func (w *world) until(what string, so func() bool) {
	w.t.Helper()
	deadline := time.Now().Add(2 * time.Minute) // against hanging; no test depends on it
	for !so() {
		if time.Now().After(deadline) {
			w.t.Fatalf("never: %s", what)
		}
		time.Sleep(20 * time.Millisecond)
	}
}
