package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/prbench/prbench/internal/job"
)

// RunnerCalibration is what a runner's machine saw when it was last measured
// against itself.
type RunnerCalibration struct {
	Key  string `json:"key"` // the runner's
	Name string `json:"name"`
	job.Calibration
}

// calibrationKey puts the pool first, so that its machines are found by prefix.
// Neither a pool's name nor a key has a dot in it.
func calibrationKey(pool, runner string) string { return pool + "." + runner }

// calibrated keeps what a runner tells of its machine, under its own key alone.
func (d *desk) calibrated(ctx context.Context, who Runner, r request) answer {
	if r.Calibration == nil {
		return failed(codeInvalid, "want a calibration")
	}
	c := cleanCalibration(*r.Calibration)
	if c == nil {
		return failed(codeInvalid, "want a calibration with its time and with fractions that are not negative")
	}
	b, err := json.Marshal(RunnerCalibration{Key: who.Key, Name: who.Name, Calibration: *c})
	if err == nil {
		_, err = d.q.calibration.Put(ctx, calibrationKey(who.Pool, who.Key), b)
	}
	if err != nil {
		return d.fault(askCalibration, r, storeError(err))
	}
	return answer{}
}

// cleanCalibration is nil where the figures make no sense.
func cleanCalibration(c job.Calibration) *job.Calibration {
	for _, x := range []float64{c.CV, c.Detectable80, c.Worst80, c.Correlation + 1, c.ExpectedStars} {
		if !(x >= 0 && x <= 1e6) {
			return nil
		}
	}
	if c.At.IsZero() || c.At.Year() > 9999 || c.Benchmarks < 1 || c.Pairs < 1 ||
		c.Stars < 0 || c.Stars > c.Benchmarks || c.Drifting < 0 || c.Drifting > c.Benchmarks {
		return nil
	}
	c.At = c.At.UTC().Truncate(time.Second)
	c.Suite, c.Setup, c.Unfit = head(c.Suite, maxName), head(c.Setup, maxText), cleanList(c.Unfit)
	return &c
}

// Calibrations are those of a pool's runners.
func (q *Queue) Calibrations(ctx context.Context, pool string) ([]RunnerCalibration, error) {
	var all []RunnerCalibration
	err := q.scan(ctx, q.calibration, calibrationKey(pool, "*"), func(e jetstream.KeyValueEntry) error {
		var c RunnerCalibration
		if err := json.Unmarshal(e.Value(), &c); err != nil {
			return fmt.Errorf("read the calibration of %s: %w", e.Key(), err)
		}
		all = append(all, c)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list the calibrations of pool %s: %w", pool, err)
	}
	return all, nil
}

// recallCalibration completes what a runner tells of its machine by what it told
// before: its own copy lies in a folder that may be deleted. What it saw under
// another setup does not hold any more.
func (q *Queue) recallCalibration(ctx context.Context, who Runner, h *job.Host) error {
	if h.Calibration != nil {
		return nil
	}
	e, err := q.calibration.Get(ctx, calibrationKey(who.Pool, who.Key))
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("find the calibration of runner %s: %w", who.Name, err)
	}
	var c RunnerCalibration
	if err := json.Unmarshal(e.Value(), &c); err != nil {
		return fmt.Errorf("read the calibration of runner %s: %w", who.Name, err)
	}
	if c.Setup == h.Setup {
		h.Calibration = &c.Calibration
	}
	return nil
}

// forgetCalibrations removes what a runner that is gone has told.
func (q *Queue) forgetCalibrations(ctx context.Context, who Runner) error {
	err := q.calibration.Delete(ctx, calibrationKey(who.Pool, who.Key))
	if err != nil && !errors.Is(err, jetstream.ErrKeyNotFound) {
		return fmt.Errorf("forget the calibration of runner %s: %w", who.Name, storeError(err))
	}
	return nil
}
