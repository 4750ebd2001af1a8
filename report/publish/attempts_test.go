package publish

import (
	"strings"
	"testing"

	"github.com/prbench/prbench/internal/job"
)

func TestTheSameBenchmarkUnderAnotherFilterIsTheNextAttempt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.ask(nil)
	w.measure(1.5)
	second := w.ask(func(j *job.Job) { j.Spec.Filter = "Enc|x" })
	w.measure(0.5)
	reports, err := w.publisher().headReports(t.Context(), second)
	w.ok(err)
	if len(reports) != 2 || reports[0].superseded || second.Attempt != 2 {
		t.Fatalf("%d reports, attempt %d", len(reports), second.Attempt)
	}
	for _, words := range []string{"attempts contradict each other", "| 1 | ", "| 2 | ", "speed: 1 regression", "speed --filter Enc/x: "} {
		if !strings.Contains(reports[1].markdown, words) {
			t.Errorf("the second report does not say %q:\n%s", words, reports[1].markdown)
		}
	}
}

func TestAnAttemptWithoutAVerdictIsListedAndHeldAgainstNone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.ask(nil)
	w.measurePairs(0.5, 2)
	second := w.ask(nil)
	w.measure(1.5)
	reports, err := w.publisher().headReports(t.Context(), second)
	w.ok(err)
	last := reports[len(reports)-1].markdown
	if !strings.Contains(last, "not judged: ") || strings.Contains(last, "contradict") || !strings.Contains(last, "1 regression") {
		t.Errorf("the second report:\n%s", last)
	}
	if second.Attempt != 2 || !strings.Contains(last, "| 2 | ") {
		t.Errorf("attempt %d; its ledger:\n%s", second.Attempt, last)
	}
}
