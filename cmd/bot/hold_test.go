package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/prbench/prbench/internal/config"
	"github.com/prbench/prbench/internal/forgetest"
)

// holding is a script that stands still as long as its tree holds the file.
const holding = "while [ -e hold ]; do sleep 0.05; done\n"

// release lets what a machine builds or runs go on, in each of the sides of its
// job.
func (w *world) release(machine string, sides ...string) {
	w.t.Helper()
	for _, side := range sides {
		eventually(w.t, machine+" holds the "+side+" side", func() bool {
			found, err := filepath.Glob(filepath.Join(w.dir, "work-"+machine, "jobs", "*", side, "hold"))
			w.ok(err)
			for _, f := range found {
				w.ok(os.Remove(f))
			}
			return len(found) == 1
		})
	}
}

// terminate is systemd's way to stop a process, which may take its time for what
// the test does meanwhile. It gives the exit code.
func (p *process) terminate(meanwhile func()) int {
	p.t.Helper()
	return p.end(syscall.SIGTERM, meanwhile)
}

// twoLooks is a repository whose benchmark is sure to need a second look: three
// of its four numbers are too noisy for four runs. Its first run stands still.
func twoLooks() (base, head map[string]string) {
	base, _ = cheap()
	base[config.RepoPath] = strings.Replace(base[config.RepoPath], "runs: 5", "runs: adaptive, looks: [4, 12]", 1)
	base["build.sh"] = "touch hold\n"
	base["bench.sh"] = holding + `sleep 0.05
for name in Scan Sort Save; do
	noise=$(od -An -N1 -tu1 /dev/urandom)
	echo "Benchmark$name 1000 $((10000 + 8 * noise)) ns/op"
done
echo "BenchmarkSum 1000 $((10000 + noise)) ns/op"
`
	return base, map[string]string{"bench.sh": strings.Replace(base["bench.sh"], "$((10000 + noise))", "$((20000 + noise))", 1)}
}

func TestARunnerThatGetsSIGTERMInMidLookFinishesItAndAnotherOneGoesOn(t *testing.T) {
	t.Parallel()
	for next, c := range map[string]struct {
		says string // the report
		on   bool   // with what was measured
	}{
		"box-1": {"and went on later with the same builds", true},
		"box-2": {"(adaptive) · on `box-2`", false},
	} {
		t.Run(next, func(t *testing.T) {
			t.Parallel()
			base, head := twoLooks()
			w := newWorld(t, worldSpec{base: base, head: head})
			serve := w.serve()
			first := w.runner("box-1")
			w.label()
			first.says(`"phase":"measure"`)
			if code := first.terminate(func() { w.release("box-1", "old", "new") }); code != 0 {
				t.Errorf("the runner ended with %d", code)
			}
			if n := w.kept("box-1"); n != 8 {
				t.Errorf("%d runs were measured, want the 8 of the first look", n)
			}
			w.nothingRunsBelow("work-box-1")
			w.wait("the job waits again", func(c forgetest.Conversation) bool { return c.CheckRuns[0].Status == "queued" })
			second := first
			if c.on {
				second = w.startRunner("box-1")
			} else {
				second = w.runner("box-2")
				second.says(`"phase":"measure"`)
				w.release("box-2", "old", "new")
			}
			if comment, _ := w.oneReport(); !strings.Contains(comment, "12 runs a side") || !strings.Contains(comment, c.says) {
				t.Errorf("the report does not tell of 12 runs and say %q:\n%s", c.says, comment)
			}
			if log := serve.text(); strings.Count(log, `"msg":"handed out"`) != 2 || !strings.Contains(log, fmt.Sprintf(`"try":2,"runner":%q`, next)) {
				t.Errorf("want two tries, the second on %s:\n%s", next, log)
			}
			if went := strings.Contains(second.text(), `"msg":"job goes on"`); went != c.on {
				t.Errorf("gone on with what was measured: %v, want %v", went, c.on)
			}
			second.stop()
			serve.stop()
			w.nothingStays()
		})
	}
}

// A job that fails at its start, at the head of the queue, holds up nothing; nor
// does a restart of serve while it runs.
func TestAJobThatFailsAtItsStartIsToldAndTheNextOneFollowsOverARestart(t *testing.T) {
	t.Parallel()
	base, head := cheap()
	base["build.sh"], base["hold"] = holding, ""
	head["build.sh"] = "true\n"
	w := newWorld(t, worldSpec{base: base, head: head})
	serve := w.serve()
	unknown := strings.Repeat("0123", 10)
	w.comment("writer", "/benchmark main --sha "+unknown)
	w.wait("that the commit is not there is told", func(c forgetest.Conversation) bool {
		return len(ours(c)) == 1 && strings.Contains(ours(c)[0].Body, unknown[:7]) && len(c.CheckRuns) == 0
	})
	for i, command := range []string{"/benchmark main --filter no-such-thing", "/benchmark main"} {
		w.comment("writer", command)
		w.wait("job waits", func(c forgetest.Conversation) bool { return len(c.CheckRuns) == i+1 })
	}
	runner := w.runner("box-1")
	w.wait("the first job is built", func(c forgetest.Conversation) bool {
		return c.CheckRuns[0].Status == "in_progress" && c.CheckRuns[1].Status == "queued"
	})
	serve.kill()
	serve = w.serve()
	runner.says(`"phase":"build base"`)
	w.release("box-1", "old")
	w.wait("both are told, in the comment of their commit", func(c forgetest.Conversation) bool {
		return finished(c) && len(ours(c)) == 2 && strings.Contains(ours(c)[1].Body, "### 1 regression beyond 10 %") &&
			strings.Contains(ours(c)[1].Body, `no case and no benchmark matches the filter "no-such-thing"`)
	})
	if jobs := strings.Count(runner.text(), `"msg":"job begins"`); jobs != 2 {
		t.Errorf("%d tries were begun, want one of each job", jobs)
	}
	runner.stop()
	serve.stop()
	w.nothingStays()
}
