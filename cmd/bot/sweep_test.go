package main

import (
	"strings"
	"testing"

	"github.com/prbench/prbench/internal/forgetest"
)

// GitHub does not repeat a delivery by itself: serve asks for it.
func TestALabelPutOnWhileServeWasDownIsMeasured(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldSpec{})
	serve := w.serve()
	w.runner("box-1")
	serve.stop()
	w.label()
	eventually(t, "the delivery has failed", func() bool {
		for _, d := range w.Deliveries() {
			if d.Event == "pull_request" && d.Action == "labeled" && d.Done && d.StatusCode != 202 {
				return true
			}
		}
		return false
	})
	w.serve()
	w.oneReport()
	eventually(t, "the delivery has arrived", func() bool {
		for _, d := range w.Deliveries() {
			if d.Action == "labeled" && d.Redelivery && (d.StatusCode == 202 || d.StatusCode == 200) {
				return true
			}
		}
		return false
	})
}

func TestAPrintedTableIsExplainedWithoutAnyRunner(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldSpec{})
	w.serve()
	w.comment("writer", "/benchmark explain --runs 30\n```\nurl/parse.js n=1000 *** -12.40 % ±1.21% ±1.62% ±2.11%\n```\n")
	c := w.wait("the answer is there", func(c forgetest.Conversation) bool { return len(ours(c)) > 0 })
	if body := ours(c)[0].Body; !strings.Contains(body, "1 regression beyond 10 %") || len(ours(c)) != 1 || len(c.CheckRuns) != 0 {
		t.Errorf("%d comments, %d check runs:\n%s", len(ours(c)), len(c.CheckRuns), body)
	}
}

func TestTheButtonOfAReportRunsItAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldSpec{})
	w.serve()
	w.runner("box-1")
	w.label()
	_, run := w.oneReport()
	w.ok(w.PressAction("writer", run.ID, "run-again"))
	c := w.wait("the second report is there", func(c forgetest.Conversation) bool {
		return len(c.CheckRuns) == 2 && finished(c) && strings.Contains(ours(c)[0].Body, "2 attempts at this comparison")
	})
	if len(ours(c)) != 1 {
		t.Errorf("%d comments, want the one of this head", len(ours(c)))
	}
}
