package main

import (
	"strings"
	"testing"
	"time"

	"github.com/prbench/prbench/internal/forgetest"
)

// slow is a benchmark that takes its time, so that a run can be caught in the middle.
func slow(side string) map[string]string {
	base, head := cheap()
	script := map[string]map[string]string{"base": base, "head": head}[side]["bench.sh"]
	return map[string]string{"bench.sh": "sleep 0.2\n" + script}
}

// measuring waits until some runs of the job are done.
func (w *world) measuring() {
	w.t.Helper()
	w.wait("the runs have begun", func(c forgetest.Conversation) bool {
		return len(c.CheckRuns) == 1 && strings.Contains(c.CheckRuns[0].Title, "Measure: ") && !strings.Contains(c.CheckRuns[0].Title, ": 0 of")
	})
}

// acceptedBy202 waits until the newest webhook has been taken.
func (w *world) acceptedBy202(event, action string) {
	w.t.Helper()
	eventually(w.t, "GitHub has the answer 202", func() bool {
		for _, d := range w.Deliveries() {
			if d.Event == event && d.Action == action && d.StatusCode == 202 {
				return true
			}
		}
		return false
	})
}

func TestServeKilledAfterTheAnswerAndBeforeTheJobLosesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldSpec{})
	// The permission is asked for before the job exists: serve is caught there.
	const permission = "/repos/acme/engine/collaborators/*/permission"
	w.Fail(forgetest.Fault{Method: "GET", Path: permission, Delay: time.Hour})
	serve := w.serve()
	runner := w.runner("box-1")
	w.label()
	w.acceptedBy202("pull_request", "labeled")
	eventually(t, "serve asks for the permission", func() bool { return len(w.RequestsTo("GET", permission)) == 1 })
	serve.kill()
	if c := w.Conversation(w.pull); len(c.CheckRuns) != 0 || len(c.Comments) != 0 {
		t.Fatalf("there is a job already: %+v", c)
	}
	w.serve()
	w.oneReport()
	if jobs := strings.Count(runner.text(), `"msg":"job begins"`); jobs != 1 {
		t.Errorf("%d jobs were begun, want 1", jobs)
	}
}

// inMidRun gives a world in which the first job is being measured. The flags are
// serve's.
func inMidRun(t *testing.T, flags ...string) (w *world, serve, runner *process) {
	t.Helper()
	w = newWorld(t, worldSpec{base: slow("base"), head: slow("head"), flags: flags})
	serve, runner = w.serve(), w.runner("box-1")
	w.label()
	w.measuring()
	return w, serve, runner
}

func TestServeKilledInMidRunIsFoundAgainByItsRunner(t *testing.T) {
	t.Parallel()
	w, serve, runner := inMidRun(t)
	serve.kill()
	w.serve()
	comment, _ := w.oneReport()
	if !strings.Contains(comment, "5 runs a side") {
		t.Errorf("want all 5 runs in the report:\n%s", comment)
	}
	if jobs := strings.Count(runner.text(), `"msg":"job begins"`); jobs != 1 {
		t.Errorf("%d tries were begun, want 1", jobs)
	}
}

func TestARunnerKilledInMidRunIsFollowedByAnother(t *testing.T) {
	t.Parallel()
	w, serve, first := inMidRun(t, "--lease", "5s")
	first.kill()
	w.nothingRunsBelow("work-box-1")
	w.runner("box-2")
	comment, run := w.oneReport()
	if !strings.Contains(comment, "5 runs a side · on `box-2`") || run.Status != "completed" {
		t.Errorf("want the second machine's 5 runs alone:\n%s", comment)
	}
	if log := serve.text(); strings.Count(log, `"msg":"handed out"`) != 2 || !strings.Contains(log, `"try":2,"runner":"box-2"`) {
		t.Errorf("want two tries, the second on the second machine:\n%s", log)
	}
}

// A restarted runner says that it holds nothing, so that its lease of twelve
// minutes need not run out.
func TestAKilledRunnerThatComesBackDoesTheNextTryAtOnce(t *testing.T) {
	t.Parallel()
	w, serve, first := inMidRun(t)
	first.kill()
	second := w.startRunner("box-1")
	comment, _ := w.oneReport()
	if !strings.Contains(comment, "5 runs a side") {
		t.Errorf("want 5 runs in the report:\n%s", comment)
	}
	if log := serve.text(); !strings.Contains(log, `"try":2,"runner":"box-1"`) {
		t.Errorf("want a second try:\n%s", log)
	}
	second.stop()
	serve.stop()
	w.nothingRuns()
}

func TestServeKilledWhilePublishingShowsOneReport(t *testing.T) {
	t.Parallel()
	const comments = "/repos/acme/engine/issues/*/comments"
	for name, c := range map[string]struct {
		fault  forgetest.Fault
		caught func(w *world) bool
	}{
		"before the comment is made": {
			forgetest.Fault{Method: "POST", Path: comments, Delay: time.Hour},
			func(w *world) bool { return len(w.RequestsTo("POST", comments)) == 1 },
		},
		"when the comment is made and not answered": {
			forgetest.Fault{Method: "POST", Path: comments, DropAfter: true},
			func(w *world) bool { return len(ours(w.Conversation(w.pull))) == 1 },
		},
		"when the comment is answered and not noted": {
			forgetest.Fault{Method: "POST", Path: "/repos/acme/engine/issues/comments/*/reactions", Skip: 1, Delay: time.Hour},
			func(w *world) bool {
				return len(w.RequestsTo("POST", "/repos/acme/engine/issues/comments/*/reactions")) == 2
			},
		},
		"when the check run is made and not answered": {
			forgetest.Fault{Method: "POST", Path: "/repos/acme/engine/check-runs", DropAfter: true},
			func(w *world) bool { return len(w.Conversation(w.pull).CheckRuns) == 1 },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// One that failed is not tried again before the kill.
			w := newWorld(t, worldSpec{flags: []string{"--publish-retry", "1h"}})
			w.Fail(c.fault)
			serve := w.serve()
			runner := w.runner("box-1")
			w.comment("writer", "/benchmark")
			eventually(t, "serve is caught "+name, func() bool { return c.caught(w) })
			serve.kill()
			w.serve()
			w.oneReport()
			shown := w.wait("🚀", func(c forgetest.Conversation) bool { return len(c.Comments[0].Reactions) == 2 })
			if got := strings.Join(shown.Comments[0].Reactions, ", "); got != "eyes by prbench[bot], rocket by prbench[bot]" {
				t.Errorf("reactions %s", got)
			}
			if jobs := strings.Count(runner.text(), `"msg":"job begins"`); jobs != 1 {
				t.Errorf("%d jobs were begun, want 1", jobs)
			}
		})
	}
}
