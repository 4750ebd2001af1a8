package runner

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

func TestARunnerKeepsOffTheBenchmarksCPUs(t *testing.T) {
	var before unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := pinThreads(&before); err != nil {
			t.Error(err)
		}
	})
	var own []int
	for c := range len(before) * 64 {
		if before.IsSet(c) {
			own = append(own, c)
		}
	}
	if err := KeepOff(own); !errors.Is(err, ErrNoCPULeft) {
		t.Errorf("the benchmarks have every CPU: %v", err)
	}
	if err := KeepOff(own[1:]); err != nil {
		t.Fatal(err)
	}
	runtime.Gosched()
	tasks, err := filepath.Glob("/proc/self/task/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		tid, err := strconv.Atoi(filepath.Base(task))
		if err != nil {
			t.Fatal(err)
		}
		var now unix.CPUSet
		if err := unix.SchedGetaffinity(tid, &now); err != nil {
			if _, gone := os.Stat(task); gone != nil {
				continue
			}
			t.Fatal(err)
		}
		if now.Count() != 1 || !now.IsSet(own[0]) {
			t.Errorf("thread %d may run on %d CPUs", tid, now.Count())
		}
	}
}
