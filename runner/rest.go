package runner

import (
	"context"
	"errors"
	"os/exec"
	"time"

	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/internal/queue"
	"github.com/prbench/prbench/runner/disk"
	"github.com/prbench/prbench/runner/source"
)

// A machine that is broken, whose disk is full or whose git is gone, fails each job
// within a second, and would soon have failed all that wait. So what may pass by
// itself is tried again here, and a runner whose tries fail one after the other
// looks at itself and takes no job for a while. Serve does its part: it gives a job
// whose try failed time, and another runner the first right to it.

// DefaultFetchPauses are how long a fetch that failed waits before it is tried again.
func DefaultFetchPauses() []time.Duration {
	return []time.Duration{2 * time.Second, 8 * time.Second, 20 * time.Second}
}

// faultsInARow is how many tries must have failed for a runner to rest.
const faultsInARow = 2

// DefaultRests are how long a runner rests whose tries fail one after the other.
func DefaultRests() []time.Duration {
	return []time.Duration{30 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute}
}

// count notes how a try ended.
func (s *service) count(o job.Outcome) {
	switch {
	case o.Kind == job.Stopped || o.Again || o.Clash != nil:
		// That says nothing of the machine. Any benchmark can print what a clash is
		// known by, and must not keep other people's jobs waiting with it.
	case o.Kind == job.Fault:
		s.faults++
		s.tired = s.faults >= faultsInARow
	default:
		s.faults = 0
	}
}

// rest waits where this runner's tries have failed one after the other, and then
// until the machine can do what a job needs.
func (s *service) rest(ctx context.Context) {
	if !s.tired || len(s.Rests) == 0 {
		return
	}
	s.tired = false
	first := s.faults - faultsInARow
	for n := first; ; n++ {
		pause := s.Rests[min(n, len(s.Rests)-1)]
		err := s.fit(ctx)
		if ctx.Err() != nil {
			return
		}
		if err == nil && n > first {
			s.Logger.Info("this machine can run jobs again")
			return
		}
		if err != nil {
			s.Logger.Error("this machine cannot run jobs; none is taken until it can", "error", err, "next_look", pause)
		} else {
			s.Logger.Warn("tries failed one after the other; the machine passes its test, and takes no job for a while", "tries", s.faults, "rest", pause)
		}
		if !sleep(ctx, pause) || err == nil {
			return
		}
	}
}

// fit tells what a job needs and this machine has not. Its trial of the sandbox is
// no part of what the machine's other runner measures: it waits for that to end.
func (s *service) fit(ctx context.Context) (err error) {
	lock, err := s.machine(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	_, err = exec.LookPath("git")
	return errors.Join(err, s.roomy(), s.Sandbox.Test(ctx))
}

// roomy tells whether the disk has room for a job, if need be without what is kept
// of earlier ones.
func (s *service) roomy() error {
	low := func() bool { return s.Sandbox.DiskLow(s.Work) || disk.Low(s.Work, s.Sources.KeepFree) }
	if !low() {
		return nil
	}
	kept := execution{bases: s.bases, mirrors: s.mirrors, log: s.Logger}
	if kept.makeRoom(); low() {
		return disk.ErrLow
	}
	return nil
}

// fetchAgain tells whether a fetch that failed is to be tried again, after so many
// times, and waits until then.
func (t *try) fetchAgain(err error, times int) bool {
	var refused *source.Refused
	if err == nil || errors.As(err, &refused) || errors.Is(err, queue.ErrStale) || errors.Is(err, queue.ErrRefused) || errors.Is(err, disk.ErrLow) || errors.Is(err, source.ErrTook) ||
		t.work.Err() != nil || times >= len(t.FetchPauses) {
		return false
	}
	t.log.Warn("the fetch is tried again", "error", err, "in", t.FetchPauses[times])
	return sleep(t.work, t.FetchPauses[times])
}
