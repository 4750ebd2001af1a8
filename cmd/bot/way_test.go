package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/prbench/prbench/internal/forgetest"
)

func TestALabelBecomesAReport(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldSpec{})
	serve := w.serve()
	runner := w.runner("box-1")
	w.label()
	comment, run := w.oneReport()
	if run.HeadSHA != w.Head(w.pull) || run.Conclusion != "neutral" || !strings.Contains(run.Title, "regression") {
		t.Errorf("check run %+v", run)
	}
	if !strings.Contains(comment, "5 runs a side · on `box-1`") {
		t.Errorf("the report does not name the machine and the runs:\n%s", comment)
	}
	runner.stop()
	serve.stop()
	w.nothingRuns()
}

func TestACommandIsSeenMeasuredAndAnswered(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldSpec{})
	w.serve()
	w.comment("writer", "Does it pay?\n\n/benchmark main --runs 6")
	c := w.wait("👀 before there is a runner", func(c forgetest.Conversation) bool { return len(c.Comments[0].Reactions) > 0 })
	if !slices.Equal(c.Comments[0].Reactions, []string{"eyes by prbench[bot]"}) {
		t.Errorf("reactions %q", c.Comments[0].Reactions)
	}
	// This runner comes in through the address that webhooks use.
	w.enroll("box-1")
	w.write("box-1.yaml", strings.Replace(w.read("box-1.yaml"), "nats://"+w.state, "ws://"+w.listen+"/runner", 1))
	w.startRunner("box-1")
	comment, _ := w.oneReport()
	if !strings.Contains(comment, "6 runs a side") {
		t.Errorf("the report does not tell of 6 runs:\n%s", comment)
	}
	c = w.wait("🚀", func(c forgetest.Conversation) bool { return len(c.Comments[0].Reactions) == 2 })
	if !slices.Equal(c.Comments[0].Reactions, []string{"eyes by prbench[bot]", "rocket by prbench[bot]"}) {
		t.Errorf("reactions %q", c.Comments[0].Reactions)
	}
	// A stranger's command gets words and no job.
	w.comment("stranger", "/benchmark")
	c = w.wait("the refusal", func(c forgetest.Conversation) bool { return len(ours(c)) == 2 })
	if body := ours(c)[1].Body; !strings.Contains(body, "`write` permission") || len(c.CheckRuns) != 1 {
		t.Errorf("%d check runs; %s", len(c.CheckRuns), body)
	}
}
