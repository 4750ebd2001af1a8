package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

// prepare holds c at its gate.
func prepare(t *testing.T, s *Sandbox, c Command) *held {
	t.Helper()
	h, err := s.Prepare(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return h.(*held)
}

func TestAHeldPayloadBeginsWhenItIsRunAndItsTimeBeginsThen(t *testing.T) {
	allLimits(t, Config{Memory: 1 << 30, Pids: 100, CPUs: "0"}, func(t *testing.T, s *Sandbox) {
		tree := newTree(t, s)
		h := prepare(t, s, Command{Argv: shell("echo begun > began"), Tree: tree, Writable: true})
		other := prepare(t, s, Command{Argv: shell("echo begun > other"), Tree: tree, Writable: true})
		time.Sleep(50 * time.Millisecond) // long enough for what does not wait
		if left, _ := os.ReadDir(tree); len(left) != 0 {
			t.Errorf("before it was run: %v", left)
		}
		called := time.Now()
		o, err := h.Run(t.Context())
		if err != nil || !o.OK() || o.Wall <= 0 || o.Wall > time.Since(called) {
			t.Errorf("%+v, %v", o, err)
		}
		if _, err := h.Run(t.Context()); err == nil {
			t.Error("it ran twice")
		}
		if err := h.Discard(); err != nil {
			t.Error(err)
		}
		if err := other.Discard(); err != nil {
			t.Error(err)
		}
		if _, err := other.Run(t.Context()); err == nil {
			t.Error("what was discarded ran")
		}
		if _, err := os.Stat(filepath.Join(tree, "began")); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(filepath.Join(tree, "other")); err == nil {
			t.Error("what was discarded has begun")
		}
	})
}

func TestADiscardedPayloadLeavesNothing(t *testing.T) {
	allLimits(t, Config{Memory: 1 << 30, Pids: 100, CPUs: "0"}, func(t *testing.T, s *Sandbox) {
		s.cfg.Owner = t.Name()
		h := prepare(t, s, Command{Argv: shell("true")})
		if found, err := findRun(0, s.ownerMark()); err != nil || len(found) == 0 {
			t.Errorf("processes that wait: %v, %v", found, err)
		}
		if err := h.Discard(); err != nil {
			t.Error(err)
		}
		if found, err := findRun(0, s.ownerMark()); err != nil || len(found) != 0 {
			t.Errorf("left: %v, %v", found, err)
		}
		if g := s.sys.groups; g != nil {
			for _, dir := range append(g.v1Parents(), g.v2) {
				left, _ := filepath.Glob(filepath.Join(dir, leafPrefix+strconv.Itoa(os.Getpid())+"-*"))
				if dir != "" && len(left) > 0 {
					t.Errorf("left behind: %v", left)
				}
			}
		}
	})
}

// The loader of a program complains of what it cannot load, once for each
// program that is started.
func TestTheCommandsEnvironmentComesAfterTheGate(t *testing.T) {
	bothKinds(t, func(t *testing.T, kind Kind) {
		s := newSandbox(t, Config{Kind: kind})
		h := prepare(t, s, Command{Argv: shell("echo $LD_PRELOAD $PATH $HOME"), Env: []string{"LD_PRELOAD=/tmp/theirs.so", "HOME=/tmp/with space"}})
		if log := h.col.tail.bytes(); len(log) > 0 {
			t.Errorf("before the gate: %s", log)
		}
		o, err := h.Run(t.Context())
		if err != nil || !o.OK() || !strings.HasPrefix(string(o.Stdout), "/tmp/theirs.so /") || !strings.HasSuffix(string(o.Stdout), "/tmp/with space\n") {
			t.Errorf("%+v, %v: %s", o, err, o.Stdout)
		}
		if n := strings.Count(string(o.LogTail), "theirs.so"); n < 2 { // the loader's and ours
			t.Errorf("the log names the library %d times: %s", n, o.LogTail)
		}
	})
	s := newSandbox(t, Config{})
	if _, err := s.Prepare(t.Context(), Command{Argv: []string{"a=b"}, Env: []string{"X=1"}}); err == nil {
		t.Error("a program that env(1) would take for a variable")
	}
}

func TestNoThreadOfTheRunnerIsLeftInAPayloadsGroup(t *testing.T) {
	s := newSandbox(t, Config{Memory: 1 << 30, Pids: 100, CPUs: "0"})
	for range 4 {
		h := prepare(t, s, Command{Argv: shell("cat /proc/self/cgroup")})
		tasks, err := filepath.Glob("/proc/self/task/*/cgroup")
		if err != nil || len(tasks) == 0 {
			t.Fatal(err)
		}
		for _, f := range tasks {
			if b, err := os.ReadFile(f); err == nil && strings.Contains(string(b), leafPrefix) {
				t.Errorf("%s: %s", f, b)
			}
		}
		if o, err := h.Run(t.Context()); err != nil || !o.OK() {
			t.Errorf("%+v, %v", o, err)
		}
	}
}

func TestASandboxIsMadeAheadOnlyOnCPUsThatAreNotThePayloads(t *testing.T) {
	for _, cfg := range []Config{{}, {CPUs: "0"}, {Kind: None, CPUs: "0"}} {
		if newSandbox(t, cfg).Ahead() {
			t.Errorf("%+v: this process may run on every CPU", cfg)
		}
	}
}

func TestCPUsThatShareACoreWithThePayloadsAreNotTheRunnersOwn(t *testing.T) {
	root := fstest.MapFS{
		"sys/devices/system/cpu/cpu2/topology/thread_siblings_list": {Data: []byte("2,6\n")},
		"sys/devices/system/cpu/cpu3/topology/thread_siblings_list": {Data: []byte("3,7\n")},
	}
	if got := coresOf(root, []int{2, 3}); !slices.Equal(got, []int{2, 3, 6, 7}) {
		t.Errorf("cores of 2 and 3: CPUs %v", got)
	}
	if got := coresOf(fstest.MapFS{}, []int{1}); !slices.Equal(got, []int{1}) {
		t.Errorf("of a machine that does not tell: CPUs %v", got)
	}
}
