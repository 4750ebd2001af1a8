package measure_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/runner/measure"
)

func TestResultsAreReadFromTheFileThatTheToolWrites(t *testing.T) {
	b := newBench(t, map[string]string{
		"old:run.sh":         "#!/bin/sh\necho \"$2 n=1: 1\" > \"$1\"\n",
		"new:run.sh":         "#!/bin/sh\necho \"$2 n=1: 2\" > \"$1\"\n",
		"new:target/old.txt": "x.js n=1: 99\n"},
		job.Suite{Name: "out", Command: "./run.sh {out} {set}", Output: "{out}"},
		job.Suite{Name: "path", Command: "./run.sh target/old.txt {set}", Output: "target/old.txt"})
	b.Spec.Set = []string{"x.js"}
	if o := b.run(t); o.Kind != job.Measured || o.Side != "" {
		t.Errorf("%+v", o)
	}
	for _, r := range b.runs {
		want := map[job.SideName]float64{job.Old: 1, job.New: 2}[r.Side]
		if len(r.Samples) != 1 || r.Samples[0].Value != want {
			t.Errorf("%s, %s: %+v %s", r.Suite, r.Side, r.Samples, r.Log)
		}
	}
	if left, err := os.ReadDir(b.Dir); err != nil || len(left) != 0 {
		t.Errorf("left in the output folder: %v, %v", left, err)
	}
}

func TestATreeCannotBeWrittenWhileItIsMeasured(t *testing.T) {
	b := newBench(t, map[string]string{"run.sh": "#!/bin/sh\necho x > own 2>/dev/null && v=1 || v=2\necho \"x.js n=1: $v\"\n"}, job.Suite{Command: "./run.sh"})
	b.run(t)
	for _, r := range b.runs {
		if len(r.Samples) != 1 || r.Samples[0].Value != 2 {
			t.Errorf("a run could write its tree: %+v", r)
		}
	}
}

func TestAnAdhocBenchmarkIsHandedToItsCommand(t *testing.T) {
	b := newBench(t, map[string]string{"run.sh": says("1")}, job.Suite{Command: "./run.sh", Adhoc: "/bin/sh {case}"}, job.Suite{Name: "other", Command: "./run.sh"})
	b.Spec.Adhoc = "echo \"adhoc n=1: 42\"\n"
	o := b.run(t)
	if o.Kind != job.Measured || len(b.runs) != 4 {
		t.Fatalf("%+v, %d runs", o, len(b.runs))
	}
	for _, r := range b.runs {
		if r.Case != measure.AdhocCase || len(r.Samples) != 1 || r.Samples[0].Value != 42 {
			t.Errorf("%+v", r)
		}
	}
}

// Node takes a file for an ES module by its ending.
func TestAnAdhocBenchmarkHasTheFileNameThatItsSuiteGivesIt(t *testing.T) {
	b := newBench(t, map[string]string{"run.sh": says("1")},
		job.Suite{Name: "module", Command: "./run.sh", Adhoc: "node {case}", AdhocFile: "snippet.mjs"},
		job.Suite{Name: "plain", Command: "./run.sh", Adhoc: "/bin/sh -c 'echo \"${0##*/} n=1: 1\"' {case}"})
	b.Spec.Adhoc = "import { basename } from 'node:path';\nawait 0;\nconsole.log(`${basename(import.meta.url)} n=1: 42`);\n"
	if o := b.run(t); o.Kind != job.Measured || o.Side != "" || len(b.runs) != 8 {
		t.Fatalf("%+v, %d runs", o, len(b.runs))
	}
	for _, r := range b.runs {
		want := map[string]string{"module": "snippet.mjs n=1", "plain": "benchmark n=1"}[r.Suite]
		if len(r.Samples) != 1 || r.Samples[0].Name() != want {
			t.Errorf("%s: %+v, want %s", r.Suite, r, want)
		}
	}
}

func TestTheNameOfAnAdhocFileLeadsNowhereElse(t *testing.T) {
	b := newBench(t, map[string]string{"run.sh": says("1")}, job.Suite{Command: "./run.sh", Adhoc: "/bin/sh {case}", AdhocFile: "../../old/run.sh"})
	b.Spec.Adhoc = "echo replaced\n"
	if _, err := measure.Run(t.Context(), b.Options); err == nil {
		t.Error("the name was taken")
	}
	if text, err := os.ReadFile(filepath.Join(b.Old, "run.sh")); err != nil || string(text) != says("1") {
		t.Errorf("the tree has %q (%v)", text, err)
	}
}

func TestAChildThatKeepsTheOutputOpenEndsWithItsRun(t *testing.T) {
	script, err := os.ReadFile("testdata/child-keeps-stdout-for-an-hour.sh")
	if err != nil {
		t.Fatal(err)
	}
	hour := fmt.Sprintf("3600.%d", os.Getpid()) // no other test on this machine has it
	run := strings.Replace(string(script), "3600", hour, 1) + "\n"
	// No clock of the test decides: a run that waits for its child meets the suite's limit of time and is told
	// as timed out. The limit is a sixtieth of the child's time, and thousands of times what the script takes,
	// so that a busy machine does not meet it.
	b := newBench(t, map[string]string{"run.sh": run, "bench/a.js": ""}, job.Suite{Command: "sh run.sh", Format: job.FormatNodeCSV, Timeout: job.Duration(time.Minute)})
	if o := b.run(t); o.Kind != job.NothingMeasured || len(b.runs) != 2 {
		t.Errorf("%+v, %d runs", o, len(b.runs))
	}
	for _, r := range b.runs {
		if !r.OK() || r.TimedOut {
			t.Errorf("%+v", r)
		}
	}
	cmdlines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cmdlines {
		if data, err := os.ReadFile(c); err == nil && string(data) == "sleep\x00"+hour+"\x00" {
			t.Errorf("%s outlived its run", c)
		}
	}
}

func TestALongLineIsLeftOutAndTheRowBehindItKept(t *testing.T) {
	script, err := os.ReadFile("testdata/gigabytes-on-one-line.sh")
	if err != nil {
		t.Fatal(err)
	}
	header := "echo 'binary,filename,configuration,rate,time'\n"
	b := newBench(t, map[string]string{"old:run.sh": header + string(script), "new:run.sh": string(script)},
		job.Suite{Command: "env BYTES=100000000 sh run.sh", Format: job.FormatNodeCSV})
	b.Spec.Runs = 1
	if o := b.run(t); o.Kind != job.Measured {
		t.Fatalf("%+v", o)
	}
	for _, r := range b.runs {
		quoted := strings.Join(r.Quoted, "\n")
		if len(r.Log) > 32<<10 || !r.OK() || !strings.Contains(quoted, "left out (100000000 bytes)") {
			t.Errorf("the log has %d bytes; quoted: %q", len(r.Log), r.Quoted)
		}
		if r.Side == job.Old && (len(r.Samples) != 1 || r.Samples[0].Value != 10) {
			t.Errorf("the row behind the line is lost: %+v", r)
		}
		if r.Side == job.New && !strings.Contains(quoted, "expected a CSV header") {
			t.Errorf("it is not told plainly that the header is missing: %q", quoted)
		}
	}
}

func TestATimeoutIsRecorded(t *testing.T) {
	b := newBench(t, map[string]string{"old:run.sh": says("1"), "new:run.sh": "#!/bin/sh\nsleep 3600\n"}, job.Suite{Command: "./run.sh", Timeout: job.Duration(200 * time.Millisecond)})
	b.Spec.Runs = 1
	o := b.run(t)
	if n := b.count(func(r job.Run) bool { return r.Side == job.New && r.TimedOut }); n != 1 {
		t.Errorf("runs: %+v", b.runs)
	}
	if !strings.Contains(o.Text, "head failed: suite, timed out") {
		t.Errorf("%+v", o)
	}
}

func TestOutputThatIsCutShortKeepsWhatIsWhole(t *testing.T) {
	for name, c := range map[string]struct {
		end  string
		kind job.OutcomeKind
		text string
	}{
		"by a kill": {"kill -9 $$", job.Measured, "base failed: suite, ended by SIGKILL"},
		"well":      {"exit 0", job.Measured, ""},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, map[string]string{"run.sh": "#!/bin/sh\necho 'x.js n=1: 100'\nprintf 'x.js n=2: '\n" + c.end + "\n"}, job.Suite{Command: "./run.sh"})
			o := b.run(t)
			if o.Kind != c.kind || o.Text != c.text {
				t.Errorf("%s, %q", o.Kind, o.Text)
			}
			for _, r := range b.runs {
				if len(r.Samples) != 1 || r.Samples[0].Value != 100 || r.Unreadable != 1 || len(r.Quoted) != 1 {
					t.Errorf("%+v", r)
				}
			}
		})
	}
}
