package sandbox

import (
	"bytes"
	"runtime"
	"strings"
	"testing"
	"time"
)

// Three gigabytes are more than 2^31 bytes, and more than a runner's memory may be.
func TestThreeGigabytesOnOneLineCostNoMemoryAndTheRowAfterThemIsKept(t *testing.T) {
	const bytesOfLine = 3_000_000_000
	s := newSandbox(t, Config{})
	const row = `"old","a_demo.js","n=1",10,1`
	var rows []string
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	o := run(t, s, Command{Argv: shell(`perl -e '$x = "x" x 1000000; print $x for 1 .. 3000'; printf '\n"old","a_demo.js","n=1",10,1\n'`),
		Timeout: 10 * time.Minute, Stdout: func(line []byte) { rows = append(rows, string(line)) }})
	runtime.ReadMemStats(&after)
	if len(rows) != 1 || rows[0] != row {
		t.Errorf("rows %q", rows)
	}
	if !o.OK() || !o.Truncated || o.LongLines != 1 || o.SkippedBytes != bytesOfLine {
		t.Errorf("exit %d, truncated %v, %d long lines, %d bytes", o.Exit, o.Truncated, o.LongLines, o.SkippedBytes)
	}
	// All that was ever allocated, freed or not, so that no collection hides a buffer that grew. It is no
	// more than what a line of any length may take.
	if used := after.TotalAlloc - before.TotalAlloc; used > 16<<20 {
		t.Errorf("%d bytes were allocated to read 3 GB", used)
	}
	if len(o.LogTail) > 2*tailLine || !bytes.Contains(o.LogTail, []byte("bytes of this line left out")) || !bytes.HasSuffix(o.LogTail, []byte(row+"\n")) {
		t.Errorf("log of %d bytes", len(o.LogTail))
	}
}

func TestOutputOverItsLimitEndsTheRun(t *testing.T) {
	bothKinds(t, func(t *testing.T, kind Kind) {
		s := newSandbox(t, Config{Kind: kind})
		o := run(t, s, Command{Argv: shell("while :; do echo 0123456789; done"), OutputLimit: 1000})
		if o.LimitHit != LimitOutput || !o.Truncated || o.TimedOut {
			t.Errorf("limit %q, truncated %v", o.LimitHit, o.Truncated)
		}
		if want := strings.Repeat("0123456789\n", 90); string(o.Stdout) != want {
			t.Errorf("kept %d bytes, expected the 90 whole lines that fit", len(o.Stdout))
		}
		o = run(t, s, Command{Argv: shell("yes | head -n 500"), OutputLimit: 1000})
		if !o.OK() || o.Truncated || len(o.Stdout) != 1000 {
			t.Errorf("exactly the limit: limit %q, %d bytes", o.LimitHit, len(o.Stdout))
		}
	})
}

func TestTheLogTailHoldsTheEndOfBothStreams(t *testing.T) {
	s := newSandbox(t, Config{})
	o := run(t, s, Command{Argv: shell("echo row; echo 'warning: slow' >&2; exit 2")})
	if tail := string(o.LogTail); !strings.Contains(tail, "warning: slow\n") || !strings.Contains(tail, "row\n") {
		t.Errorf("log tail %q", tail)
	}
	if string(o.Stdout) != "row\n" {
		t.Errorf("standard output %q", o.Stdout)
	}
	o = run(t, s, Command{Argv: shell("seq 100000 >&2; echo 'fatal: no such benchmark' >&2; exit 2"), LogTail: 2000})
	if tail := string(o.LogTail); !strings.HasSuffix(tail, "100000\nfatal: no such benchmark\n") || len(tail) > 2100 || !strings.HasPrefix(tail, "[586") {
		t.Errorf("log tail %q", tail)
	}
}

func TestALastLineWithoutNewlineCounts(t *testing.T) {
	s := newSandbox(t, Config{})
	if o := run(t, s, Command{Argv: shell("printf 'a\\nb'")}); string(o.Stdout) != "a\nb\n" {
		t.Errorf("output %q", o.Stdout)
	}
}

func TestRunsDoNotDisturbEachOther(t *testing.T) {
	bothKinds(t, func(t *testing.T, kind Kind) {
		s := newSandbox(t, Config{Kind: kind, Memory: 256 << 20, Pids: 64})
		results := make(chan string)
		for range 4 {
			go func() {
				o, err := s.Run(t.Context(), Command{Argv: shell("echo a; sleep 0.05; echo b; exit 5")})
				if err != nil {
					o.Stdout = []byte(err.Error())
				}
				results <- string(o.Stdout) + string(rune('0'+o.Exit))
			}()
		}
		for range 4 {
			if got := <-results; got != "a\nb\n5" {
				t.Errorf("a run gave %q", got)
			}
		}
	})
}
