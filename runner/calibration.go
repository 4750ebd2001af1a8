package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/internal/queue"
	"github.com/prbench/prbench/runner/calibrate"
	"github.com/prbench/prbench/runner/sandbox"
	"github.com/prbench/prbench/runner/source"
)

// CalibrationFile is where a runner keeps, in its work folder, what it saw when
// its machine was last measured against itself. `bot calibrate --out` may write
// it too.
const CalibrationFile = "calibration.json"

// calibrationRest is how long a calibration that could not be made is left alone.
const calibrationRest = time.Hour

// unfitRest is after how long a machine that was unfit is measured again.
const unfitRest = 24 * time.Hour

// calibrationBudget bounds a calibration that the runner makes by itself.
const calibrationBudget = job.Duration(2 * time.Hour)

// nextCalibrationFile is where a runner keeps what it is to be measured with
// next, so that one that is started again need not wait for a job.
const nextCalibrationFile = "calibrate-next.json"

// measuredBefore is what the runner's last job leaves for a calibration: where
// its built base is kept, and how that is measured.
type measuredBefore struct {
	Key  cacheKey
	Base job.Side
	Spec job.Spec
}

// keepLast keeps what the next calibration measures.
func (s *service) keepLast(last *measuredBefore) {
	s.last = last
	data, err := json.Marshal(last)
	path := filepath.Join(s.Work, nextCalibrationFile)
	if err == nil {
		err = errors.Join(os.WriteFile(path+".new", data, 0o600), os.Rename(path+".new", path))
	}
	if err != nil {
		s.Logger.Warn("what the next calibration measures is not remembered", "error", err)
	}
}

// findLast gives what an earlier process of this runner has kept, nil where
// there is nothing that can be read.
func (s *service) findLast() *measuredBefore {
	data, err := os.ReadFile(filepath.Join(s.Work, nextCalibrationFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var last *measuredBefore
	if err == nil {
		err = json.Unmarshal(data, &last)
	}
	if err != nil {
		s.Logger.Warn("what the next calibration measures is forgotten", "error", err)
		return nil
	}
	return last
}

// calibration is the kept calibration of this machine, nil where there is none
// that holds. Why one does not is said once.
func (s *service) calibration() *job.Calibration {
	c, err := s.keptCalibration()
	said := ""
	if err != nil {
		if said = err.Error(); said != s.leftOut {
			s.Logger.Warn("the kept calibration is left out", "error", err)
		}
	}
	s.leftOut = said
	return c
}

// keptCalibration reads it, and wants it to be of the machine as it is now.
func (s *service) keptCalibration() (*job.Calibration, error) {
	r, err := calibrate.Read(filepath.Join(s.Work, CalibrationFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	here := hostFacts(hostRoot, s.Name, s.Sandbox.Facts())
	switch {
	case r.Host.CPU != here.CPU || r.Host.Cores != here.Cores:
		return nil, fmt.Errorf("it is another machine's: %s, %d cores", r.Host.CPU, r.Host.Cores)
	case r.Host.Setup != here.Setup:
		return nil, fmt.Errorf("the machine was set up in another way; then: %q, now: %q", r.Host.Setup, here.Setup)
	}
	return r.Sees(), nil
}

// tellCalibration hands the kept calibration to serve, once.
func (s *service) tellCalibration(ctx context.Context) {
	c := s.calibration()
	if c == nil || c.At.Equal(s.told) {
		return
	}
	err := s.Conn.Calibrated(ctx, *c)
	switch {
	case err == nil:
	case errors.Is(err, queue.ErrInvalid):
		s.Logger.Info("serve takes no calibration; it may be older than this runner")
	default:
		s.Logger.Warn("the calibration was not told", "error", err)
		return
	}
	s.told = c.At
}

// calibrationDue tells whether the machine, having nothing to do, should be
// measured against itself.
func (s *service) calibrationDue(now time.Time) bool {
	if s.CalibrateEvery <= 0 || s.last == nil || now.Before(s.calibrateAfter) {
		return false
	}
	c := s.calibration()
	if c == nil {
		return true
	}
	every := s.CalibrateEvery
	if len(c.Unfit) > 0 {
		every = min(every, unfitRest)
	}
	// One of the future was made before the clock was set back.
	return now.Sub(c.At) >= every || c.At.After(now)
}

// calibrateUntilClaimed measures the machine against itself and goes on asking
// for jobs meanwhile: a job ends the calibration, which begins anew when the
// machine is idle again.
func (s *service) calibrateUntilClaimed(ctx context.Context) (*queue.Lease, error) {
	work, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := s.calibrate(work); err != nil && work.Err() == nil {
			s.Logger.Warn("the machine was not calibrated", "error", err)
			s.calibrateAfter = time.Now().Add(calibrationRest)
		}
	}()
	defer func() {
		stop()
		<-done
	}()
	for {
		lease, err := s.Conn.Claim(ctx, queue.ClaimRequest{Host: hostFacts(hostRoot, s.Name, s.Sandbox.Facts())})
		if lease != nil || err != nil && (ctx.Err() != nil || errors.Is(err, queue.ErrRefused) || errors.Is(err, queue.ErrVersion)) {
			return lease, err
		}
		select {
		case <-done:
			return nil, nil
		default:
		}
	}
}

// calibrate takes the base that the last job has built, measures it against a
// copy of itself, and puts it back.
func (s *service) calibrate(ctx context.Context) (err error) {
	last := *s.last
	dir := filepath.Join(s.jobs, "calibration")
	if err := os.Mkdir(dir, 0o711); err != nil {
		return fmt.Errorf("make the folder of the calibration: %w", err)
	}
	defer func() { err = errors.Join(err, removeTree(dir)) }()
	tally := calibrate.NewTally()
	e := &execution{box: s.Sandbox, dir: dir, spec: last.Spec, name: s.Name, log: s.Logger.With("calibration", last.Base.SHA),
		sink: func(r job.Run) error { tally.Add(r); return nil }}
	hit, err := s.bases.take(last.Key, e.tree(job.Old), e.cache(job.Old))
	if err != nil {
		return err
	}
	if !hit { // it made place for others; the next job leaves another
		s.keepLast(nil)
		return nil
	}
	defer func() { err = errors.Join(err, s.bases.put(last.Key, e.tree(job.Old), e.cache(job.Old))) }()
	if err := copyTree(ctx, e.tree(job.Old), e.tree(job.New)); err != nil {
		return err
	}
	if err := s.Sandbox.Own(ctx, e.tree(job.New)); err != nil {
		return err
	}
	e.log.Info("the machine is measured against itself")
	r, err := e.againstItself(ctx, tally, last.Base)
	if err != nil {
		return err
	}
	r.Repository = last.Key.Repository
	if err := r.Write(filepath.Join(s.Work, CalibrationFile)); err != nil {
		return err
	}
	s.tellCalibration(ctx)
	return nil
}

// againstItself measures two trees of one commit, which are built.
func (e *execution) againstItself(ctx context.Context, tally *calibrate.Tally, commit job.Side) (*calibrate.Result, error) {
	out := e.buildAndMeasure(ctx, source.Plan{})
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if out.Kind != job.Measured {
		return nil, fmt.Errorf("calibrate: %s: %s", out.Kind, out.Text)
	}
	r, err := tally.Judge(e.spec, commit, out.Host, time.Now())
	if err != nil {
		return nil, fmt.Errorf("calibrate: %w", err)
	}
	if r.Sees() == nil {
		return nil, errors.New("calibrate: no benchmark has a spread that tells anything")
	}
	return r, nil
}

// calibrationSpec is how a job's suites are measured for a calibration: as the
// job does, but for what was asked of this one job.
func calibrationSpec(s job.Spec) job.Spec {
	s.Build, s.Filter, s.Set, s.Adhoc, s.Gate = job.Build{}, "", nil, "", false
	s.Runs, s.Looks, s.Budget = calibrate.Runs, nil, calibrationBudget
	return s
}

// remember keeps what a finished job leaves for a calibration.
func (t *try) remember(e *execution) {
	if t.CalibrateEvery > 0 && e.bases != nil && e.keep && t.Sandbox.Facts().Kind != sandbox.None && t.job.Spec.Adhoc == "" {
		t.keepLast(&measuredBefore{Key: e.key, Base: t.job.Base, Spec: calibrationSpec(t.job.Spec)})
	}
}
