package runner

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// ErrNoCPULeft is a list of CPUs that leaves none for the runner itself.
var ErrNoCPULeft = errors.New("no CPU is left for the runner itself")

// KeepOff moves this process off the CPUs that benchmarks are pinned to. It is
// meant for the start of a runner: threads that are made later inherit it, and
// so do children, to which the sandbox gives the CPUs of its own
// configuration. It returns ErrNoCPULeft, and changes nothing, where the
// benchmarks have every CPU.
func KeepOff(cpus []int) error {
	var own unix.CPUSet
	if err := unix.SchedGetaffinity(0, &own); err != nil {
		return fmt.Errorf("read the runner's CPUs: %w", err)
	}
	for _, c := range cpus {
		own.Clear(c)
	}
	if own.Count() == 0 {
		return ErrNoCPULeft
	}
	return pinThreads(&own)
}

// pinThreads pins every thread of the process; a second look finds the threads
// that were made during the first.
func pinThreads(set *unix.CPUSet) error {
	done := map[int]bool{}
	for {
		tasks, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return fmt.Errorf("list the runner's threads: %w", err)
		}
		more := false
		for _, t := range tasks {
			tid, err := strconv.Atoi(t.Name())
			if err != nil || done[tid] {
				continue
			}
			done[tid], more = true, true
			if err := unix.SchedSetaffinity(tid, set); err != nil && !errors.Is(err, unix.ESRCH) {
				return fmt.Errorf("move the runner off the benchmarks' CPUs: %w", err)
			}
		}
		if !more {
			return nil
		}
	}
}
