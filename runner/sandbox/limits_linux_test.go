package sandbox

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// withoutGroups is a sandbox on a machine that lets it make no control groups.
func withoutGroups(t *testing.T, cfg Config) *Sandbox {
	t.Helper()
	s := newSandbox(t, cfg)
	s.sys.groups = nil
	s.facts.Memory, s.facts.Pids, s.facts.CPUs, s.facts.Notes = "none", "none", "none", nil
	s.limitFacts()
	if err := s.findGate(); err != nil {
		t.Fatal(err)
	}
	return s
}

// allLimits runs a test with what this machine offers and without control groups, each for both kinds.
func allLimits(t *testing.T, cfg Config, test func(t *testing.T, s *Sandbox)) {
	bothKinds(t, func(t *testing.T, kind Kind) {
		cfg.Kind = kind
		t.Run("as the machine has it", func(t *testing.T) { test(t, newSandbox(t, cfg)) })
		t.Run("resource limits", func(t *testing.T) { test(t, withoutGroups(t, cfg)) })
	})
}

func TestAMemoryHogIsEndedAndReportedAsThat(t *testing.T) {
	// Far more than this process has: what a child held cannot be told from what it had of its parent's before it began.
	const limit = 256 << 20
	allLimits(t, Config{Memory: limit}, func(t *testing.T, s *Sandbox) {
		o := run(t, s, Command{Argv: []string{"perl", "-e", `$i = 0; while (1) { $b[$i++] = "x" x (1 << 20) }`}})
		if o.LimitHit != LimitMemory || o.OK() || o.TimedOut {
			t.Errorf("limit %q, exit %d, signal %q, largest %d, log %q", o.LimitHit, o.Exit, o.Signal, o.Rusage.MaxRSS, o.LogTail)
		}
		if strings.HasPrefix(s.Facts().Memory, "cgroup") && (o.Rusage.PeakMemory < limit/2 || o.Rusage.PeakMemory > limit) {
			t.Errorf("peak memory %d, expected close to the limit", o.Rusage.PeakMemory)
		}
		if o := run(t, s, Command{Argv: shell("echo small")}); !o.OK() {
			t.Errorf("a small payload: limit %q, exit %d, log %q", o.LimitHit, o.Exit, o.LogTail)
		}
	})
}

func TestFilesInTmpCountAsMemory(t *testing.T) {
	s := newSandbox(t, Config{Memory: 32 << 20})
	o := run(t, s, Command{Argv: shell("head -c 200000000 /dev/zero > /tmp/a; head -c 200000000 /dev/zero > /dev/shm/b; wc -c /tmp/a /dev/shm/b")})
	for _, size := range strings.Fields(string(o.Stdout)) {
		if n, err := strconv.Atoi(size); err == nil && n > 64<<20 {
			t.Errorf("%d bytes fit into files in memory of a run of 32 MiB", n)
		}
	}
	if o.LimitHit != LimitMemory && !strings.Contains(string(o.LogTail), "No space left") {
		t.Errorf("limit %q, log %q", o.LimitHit, o.LogTail)
	}
}

func TestAForkBombIsContained(t *testing.T) {
	const script = `$n = 0; while (defined($p = fork)) { if (!$p) { sleep 3600; exit } $n++; last if $n > 1000 } print "$n\n"`
	allLimits(t, Config{Pids: 40}, func(t *testing.T, s *Sandbox) {
		if s.cfg.Kind == None && s.facts.Pids == "rlimit" {
			// There the kernel counts all processes of the user, on the whole machine, and never stops root.
			return
		}
		o := run(t, s, Command{Argv: []string{"perl", "-e", script}})
		made, err := strconv.Atoi(strings.TrimSpace(string(o.Stdout)))
		if err != nil || made < 20 || made > 40 {
			t.Errorf("%q processes were made, the limit is 40: %s", o.Stdout, o.LogTail)
		}
		if strings.HasPrefix(s.Facts().Pids, "cgroup") && o.LimitHit != LimitPids {
			t.Errorf("limit %q", o.LimitHit)
		}
		o = run(t, s, Command{Argv: shell("b() { b | b & }; b; sleep 0.3")})
		if o.TimedOut {
			t.Error("the bomb kept the run")
		}
	})
}

func TestAFileOverTheLimitIsReportedAsThat(t *testing.T) {
	bothKinds(t, func(t *testing.T, kind Kind) {
		s := newSandbox(t, Config{Kind: kind, FileSize: 1 << 20})
		tree := newTree(t, s)
		o := run(t, s, Command{Argv: shell("exec head -c 3000000 /dev/zero > big"), Tree: tree, Writable: true})
		if o.LimitHit != LimitFileSize || o.Signal != "SIGXFSZ" {
			t.Errorf("limit %q, exit %d, signal %q, log %q", o.LimitHit, o.Exit, o.Signal, o.LogTail)
		}
		if fi, err := os.Stat(filepath.Join(tree, "big")); err != nil || fi.Size() > 1<<20 {
			t.Errorf("the file: %v, %v", fi, err)
		}
	})
}

func TestACrashLeavesNoCoreFile(t *testing.T) {
	s := newSandbox(t, Config{})
	o := run(t, s, Command{Argv: shell("cat /proc/self/limits")})
	for line := range strings.Lines(string(o.Stdout)) {
		if f := strings.Fields(line); strings.HasPrefix(line, "Max core file size") && (f[4] > "1" || f[5] > "1") {
			t.Errorf("%s", line)
		}
	}
	if !strings.Contains(string(o.Stdout), "Max core file size") {
		t.Errorf("limits: %s", o.Stdout)
	}
}

func TestPayloadsArePinnedToTheirCPUsAndTheRunnerIsNot(t *testing.T) {
	last := strconv.Itoa(runtime.NumCPU() - 1)
	allLimits(t, Config{CPUs: last}, func(t *testing.T, s *Sandbox) {
		// By the group, the list holds whatever the payload asks for.
		script := "taskset -pc 0-" + last + " $$ >/dev/null 2>&1; grep Cpus_allowed_list /proc/self/status | cut -f2"
		if s.Facts().CPUs == "affinity" {
			script = "grep Cpus_allowed_list /proc/self/status | cut -f2"
		}
		if o := run(t, s, Command{Argv: shell(script)}); string(o.Stdout) != last+"\n" {
			t.Errorf("%s: CPUs allowed %q, expected %s", s.Facts().CPUs, o.Stdout, last)
		}
		if p := s.Facts().Pinned; len(p) != 1 || p[0] != runtime.NumCPU()-1 {
			t.Errorf("the facts tell of CPUs %v", p)
		}
	})
	tasks, err := filepath.Glob("/proc/self/task/*/status")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range tasks {
		b, err := os.ReadFile(f)
		if err == nil && runtime.NumCPU() > 1 && strings.Contains(string(b), "Cpus_allowed_list:\t"+last+"\n") {
			t.Errorf("a thread of the runner was left on the payloads' CPU: %s", f)
		}
	}
}

func TestARunThatFillsTheDiskIsEnded(t *testing.T) {
	s := newSandbox(t, Config{KeepFree: 1 << 60})
	tree := newTree(t, s)
	if o := run(t, s, Command{Argv: shell("sleep 3600"), Tree: tree, Writable: true}); o.LimitHit != LimitDisk || o.TimedOut {
		t.Errorf("limit %q", o.LimitHit)
	}
	if o := run(t, s, Command{Argv: shell("sleep 0.7"), Tree: tree}); !o.OK() {
		t.Errorf("a run that writes nothing to the host: limit %q", o.LimitHit)
	}
}

func TestALimitThatIsHitBeforeAHangIsTheOneToBlame(t *testing.T) {
	s := newSandbox(t, Config{Pids: 20})
	o := run(t, s, Command{Argv: []string{"perl", "-e", `1 while defined(fork); sleep 3600`}, Timeout: 2 * time.Second})
	if !o.TimedOut || strings.HasPrefix(s.Facts().Pids, "cgroup") && o.LimitHit != LimitPids {
		t.Errorf("timed out %v, limit %q", o.TimedOut, o.LimitHit)
	}
}

func TestNoControlGroupIsLeftBehind(t *testing.T) {
	s := newSandbox(t, Config{Memory: 64 << 20, Pids: 64, CPUs: "0"})
	run(t, s, Command{Argv: shell("sleep 3600 & exit 0")})
	g := s.sys.groups
	if g == nil {
		if s.Facts().Memory != "rlimit" {
			t.Errorf("no groups, and memory limited by %q", s.Facts().Memory)
		}
		return
	}
	for _, dir := range []string{g.v2, g.memory, g.pids, g.cpuset} {
		left, _ := filepath.Glob(filepath.Join(dir, leafPrefix+strconv.Itoa(os.Getpid())+"-*"))
		if dir != "" && len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	}
}

func TestFactsSayWhatEnforcesEachLimit(t *testing.T) {
	f := newSandbox(t, Config{Memory: 64 << 20, Pids: 64, CPUs: "0"}).Facts()
	for about, how := range map[string]string{"memory": f.Memory, "pids": f.Pids, "cpus": f.CPUs} {
		if !slices.Contains([]string{"cgroup v2", "cgroup v1", "rlimit", "affinity"}, how) {
			t.Errorf("%s is limited by %q", about, how)
		}
	}
	if f.Bwrap == "" || f.Version == "" || f.UID == 0 || f.Kind != Bubblewrap {
		t.Errorf("facts %+v", f)
	}
	f = withoutGroups(t, Config{Memory: 64 << 20, Pids: 64, CPUs: "0"}).Facts()
	if f.Memory != "rlimit" || f.Pids != "rlimit" || f.CPUs != "affinity" || len(f.Notes) < 3 {
		t.Errorf("facts without control groups: %+v", f)
	}
	f = newSandbox(t, Config{}).Facts()
	if f.Memory != "none" || f.Pids != "none" || f.CPUs != "none" {
		t.Errorf("facts without limits: %+v", f)
	}
}
