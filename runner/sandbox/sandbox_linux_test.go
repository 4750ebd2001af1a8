package sandbox

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// testUser is an account that every system has, for a root runner to drop to. The tests also run as an ordinary user.
func testUser() string {
	if os.Geteuid() != 0 {
		return ""
	}
	return "nobody"
}

// newSandbox is a sandbox of the given kind.
func newSandbox(t *testing.T, cfg Config) *Sandbox {
	t.Helper()
	if cfg.Kind == "" {
		cfg.Kind = Bubblewrap
	}
	if cfg.User == "" {
		cfg.User = testUser()
	}
	s, err := New(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// newDir is a directory that the payloads' user can reach; t.TempDir is closed to others.
func newDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "prbench-sandbox-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := removeAll(dir); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// newTree is a tree that the payloads' user owns.
func newTree(t *testing.T, s *Sandbox) string {
	t.Helper()
	dir := newDir(t)
	if err := s.Own(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

func shell(script string) []string { return []string{"/bin/sh", "-c", script} }

// run runs c, which must not be an infrastructure fault.
func run(t *testing.T, s *Sandbox, c Command) Outcome {
	t.Helper()
	if c.Timeout == 0 {
		c.Timeout = time.Minute // against hanging; no test depends on it
	}
	o, err := s.Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// bothKinds runs a test for each kind of sandbox.
func bothKinds(t *testing.T, test func(t *testing.T, kind Kind)) {
	for _, k := range []Kind{Bubblewrap, None} {
		t.Run(string(k), func(t *testing.T) { test(t, k) })
	}
}

func TestTheExitStatusOfThePayloadIsReported(t *testing.T) {
	bothKinds(t, func(t *testing.T, kind Kind) {
		s := newSandbox(t, Config{Kind: kind})
		for script, want := range map[string]int{"exit 0": 0, "exit 1": 1, "exit 3": 3, "exit 255": 255} {
			if o := run(t, s, Command{Argv: shell(script)}); o.Exit != want || o.Signal != "" || o.LimitHit != "" {
				t.Errorf("%s: exit %d, signal %q, limit %q", script, o.Exit, o.Signal, o.LimitHit)
			}
		}
		o := run(t, s, Command{Argv: shell("kill -SEGV $$")})
		if o.Exit != 128+11 || o.Signal != "SIGSEGV" {
			t.Errorf("killed by SIGSEGV: exit %d, signal %q", o.Exit, o.Signal)
		}
		o = run(t, s, Command{Argv: []string{"no-such-program"}})
		if o.Exit == 0 || !strings.Contains(string(o.LogTail), "no-such-program") {
			t.Errorf("a missing program: exit %d, log %q", o.Exit, o.LogTail)
		}
	})
}

func TestAPayloadThatSleepsIsEndedByItsTimeout(t *testing.T) {
	bothKinds(t, func(t *testing.T, kind Kind) {
		s := newSandbox(t, Config{Kind: kind})
		o := run(t, s, Command{Argv: shell("trap '' TERM INT HUP; echo begun; sleep 3600"), Timeout: 300 * time.Millisecond})
		if !o.TimedOut || o.LimitHit != LimitTime || o.Exit == 0 {
			t.Errorf("timed out %v, limit %q, exit %d", o.TimedOut, o.LimitHit, o.Exit)
		}
		if string(o.Stdout) != "begun\n" {
			t.Errorf("what it printed before: %q", o.Stdout)
		}
	})
}

func TestACancelledRunEndsWithTheContextsError(t *testing.T) {
	bothKinds(t, func(t *testing.T, kind Kind) {
		s := newSandbox(t, Config{Kind: kind})
		ctx, cancel := context.WithCancel(t.Context())
		_, err := s.Run(ctx, Command{Argv: shell("echo begun; sleep 3600"), Stdout: func([]byte) { cancel() }})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
	})
}

func TestALeftOverChildDoesNotKeepTheRunNorStayBehind(t *testing.T) {
	// The child keeps standard output open for an hour; another leaves the session and its parent.
	script := `(sleep 3600) & setsid sh -c '(while :; do echo x >> heartbeat; sleep 0.01; done) &' >/dev/null 2>&1
		until [ -s heartbeat ]; do sleep 0.01; done; echo '"binary","filename","configuration","rate","time"'`
	bothKinds(t, func(t *testing.T, kind Kind) {
		s := newSandbox(t, Config{Kind: kind})
		tree := newTree(t, s)
		o := run(t, s, Command{Argv: shell(script), Tree: tree, Writable: true})
		if !o.OK() || !strings.HasPrefix(string(o.Stdout), `"binary"`) {
			t.Fatalf("exit %d, limit %q, log %q", o.Exit, o.LimitHit, o.LogTail)
		}
		size := func() int64 {
			fi, err := os.Stat(filepath.Join(tree, "heartbeat"))
			if err != nil {
				t.Fatal(err)
			}
			return fi.Size()
		}
		before := size()
		time.Sleep(200 * time.Millisecond)
		if after := size(); after != before {
			t.Errorf("the daemon still writes: %d bytes, then %d", before, after)
		}
	})
}

func TestUsageCountsWhatThePayloadAndItsChildrenTook(t *testing.T) {
	s := newSandbox(t, Config{})
	// 64 MiB in a child, and half a second of CPU time.
	o := run(t, s, Command{Argv: shell(`perl -e '$b = "x"; $b x= 64 << 20; 1 while (times)[0] + (times)[1] < 0.5'; exit 0`)})
	if !o.OK() {
		t.Fatalf("exit %d: %s", o.Exit, o.LogTail)
	}
	if cpu := o.Rusage.User + o.Rusage.System; cpu < 500*time.Millisecond || o.Wall < 500*time.Millisecond {
		t.Errorf("CPU time %v, wall time %v: expected at least 500ms", cpu, o.Wall)
	}
	if rss := o.Rusage.MaxRSS; rss < 64<<20 || rss > 160<<20 {
		t.Errorf("largest resident size %s MiB, expected 64 and a little", strconv.FormatInt(rss>>20, 10))
	}
}
