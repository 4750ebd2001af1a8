package publish

import (
	"slices"
	"strings"
	"testing"

	"github.com/prbench/prbench/internal/forgetest"
	"github.com/prbench/prbench/internal/job"
)

func TestTheCheckRunsButtonsAreThoseOfItsState(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run(w.publisher())
	j := w.ask(nil)
	buttons := func(status string, want ...string) {
		t.Helper()
		w.ok(w.Wait(t.Context(), w.pull, func(c forgetest.Conversation) bool {
			return len(c.CheckRuns) == 1 && c.CheckRuns[0].Status == status && slices.Equal(c.CheckRuns[0].Actions, want)
		}))
	}
	buttons("queued", job.ButtonCancel)
	l := w.claim()
	buttons("in_progress", job.ButtonCancel)
	w.end(l, job.Outcome{Kind: job.BuildFailed, Side: job.New, Text: "make failed"})
	w.shown(j.ID)
	buttons("completed", job.ButtonRunAgain)

	second := w.ask(nil)
	w.measure(2)
	w.shown(second.ID)
	if run := w.Conversation(w.pull).CheckRuns[1]; !slices.Equal(run.Actions, []string{job.ButtonRunAgain, job.ButtonMoreRuns}) {
		t.Errorf("the buttons of a report are %q", run.Actions)
	}
	for _, r := range w.RequestsTo("PATCH", "/repos/acme/engine/check-runs/*") {
		if !strings.Contains(string(r.Body), `"actions"`) {
			t.Errorf("an update without buttons, which leaves the old ones: %s", r.Body)
		}
	}
}
