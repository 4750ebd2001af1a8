package queue

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/prbench/prbench/internal/job"
)

func TestWhatARunnerSaysOfItsProgressIsBounded(t *testing.T) {
	for _, c := range []struct {
		name      string
		said, got job.Progress
	}{
		{"what is plausible stays",
			job.Progress{Phase: job.PhaseMeasure, Done: 3, Total: 7, Left: job.Duration(time.Minute), Case: "c"},
			job.Progress{Phase: job.PhaseMeasure, Done: 3, Total: 7, Left: job.Duration(time.Minute), Case: "c"}},
		{"huge numbers",
			job.Progress{Phase: job.PhaseFetch, Done: math.MaxInt, Total: math.MaxInt, Left: math.MaxInt64, LookLeft: math.MaxInt64, Spent: math.MaxInt64, PhaseLeft: math.MaxInt64,
				CaseNumber: math.MaxInt, Cases: math.MaxInt, Pair: math.MaxInt, Pairs: math.MaxInt, Look: math.MaxInt, Looks: math.MaxInt},
			job.Progress{Phase: job.PhaseFetch, Done: maxProcesses, Total: maxProcesses, Left: maxLeft, LookLeft: maxLeft, Spent: maxLeft, PhaseLeft: maxLeft,
				CaseNumber: maxProcesses, Cases: maxProcesses, Pair: maxProcesses, Pairs: maxProcesses, Look: maxProcesses, Looks: maxProcesses}},
		{"negative numbers",
			job.Progress{Phase: job.PhaseDeliver, Done: math.MinInt, Total: -1, Left: math.MinInt64, LookLeft: -1, Spent: -1, PhaseLeft: -1, CaseNumber: -1, Cases: -1, Pair: -1, Pairs: -1, Look: -1, Looks: -1},
			job.Progress{Phase: job.PhaseDeliver}},
		{"more done than there is",
			job.Progress{Phase: job.PhaseBuildBase, Done: 9, Total: 4},
			job.Progress{Phase: job.PhaseBuildBase, Done: 4, Total: 4}},
		{"no total",
			job.Progress{Phase: job.PhaseBuildHead, Done: math.MaxInt},
			job.Progress{Phase: job.PhaseBuildHead, Done: maxProcesses}},
		{"an unknown phase", job.Progress{Phase: "<b>mine</b>", Done: 1}, job.Progress{Done: 1}},
	} {
		if d := cmp.Diff(c.got, cleanProgress(c.said)); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, d)
		}
	}
}

func TestWhatARunnerSaysOfAPickIsBounded(t *testing.T) {
	sha, long := strings.Repeat("0a", 20), strings.Repeat("x", maxText+1)
	honest := job.Picked{Kind: job.PickAppliesInPart, SHA: sha, PatchID: sha, Skipped: []string{sha}, Files: []string{"a b"}, Text: "t", Commit: sha}
	if d := cmp.Diff(&honest, cleanOutcome(job.Outcome{Picked: &honest}).Picked); d != "" {
		t.Errorf("what is plausible changed (-want +got):\n%s", d)
	}
	evil := job.Picked{Kind: "<b>", SHA: "../../x", PatchID: "0", Commit: sha + "\n", Text: long, Files: make([]string, maxNotes+1),
		Skipped: append(make([]string, job.MaxPicks), sha)}
	evil.Files[0] = long
	got := cleanOutcome(job.Outcome{Picked: &evil}).Picked
	if got.Kind != "" || got.SHA+got.PatchID+got.Commit != "" || len(got.Skipped) != 0 || len(got.Files) != maxNotes ||
		len(got.Text) >= len(long)+10 || len(got.Files[0]) >= len(long)+10 {
		t.Errorf("kept %.300v", got)
	}
}

func TestARequestThatPanicsEndsNothingButItself(t *testing.T) {
	q := open(t)
	_, key, err := NewKey()
	if err != nil {
		t.Fatal(err)
	}
	if err := q.Enroll(t.Context(), "box", "default", key); err != nil {
		t.Fatal(err)
	}
	create(t, q, wish(1, 1, "k"))
	j, _, err := q.handOut(t.Context(), "1.1.1", Runner{Key: key, Name: "box", Pool: "default"})
	if err != nil {
		t.Fatal(err)
	}
	d := newDesk(q, Desk{Token: func(context.Context, job.Job) (Token, error) { panic("a bug") }})
	ask, err := json.Marshal(request{Version: Protocol, ID: j.ID, Try: j.Try, Progress: &job.Progress{}})
	if err != nil {
		t.Fatal(err)
	}
	for range perRunner + 1 { // each lets go of its place
		a := d.answer(t.Context(), key, askToken, ask)
		if a.Error == nil || a.Error.Code != codeAgain || a.Error.Text != "the request could not be carried out" {
			t.Fatalf("answered %+v", a.Error)
		}
	}
	if a := d.answer(t.Context(), key, askBeat, ask); a.Error != nil {
		t.Errorf("the next request: %+v", a.Error)
	}
}

func TestAnOutcomeIsDeliveredHoweverMuchThereIsToSay(t *testing.T) {
	t.Parallel()
	q := open(t)
	serve(t, q, &forge{})
	c := enroll(t, q, "box", "default")
	long := strings.Repeat("\x00<", 4<<10) // each byte becomes six
	for name, o := range map[string]job.Outcome{
		"ten thousand notes": {Notes: notes(10_000, "the submodule lib was not fetched")},
		"long ones":          {Notes: notes(100, long), Log: long, Text: long, Host: job.Host{Unfit: notes(100, long), Warn: notes(100, long)}},
	} {
		id := create(t, q, wish(1, 1, name)).ID
		l := claim(t, c)
		o.Kind, o.Runs = job.Measured, 7
		if err := c.Done(t.Context(), id, l.Try, o); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		j := get(t, q, id)
		n := len(j.Outcome.Notes)
		if want := fmt.Sprintf("%d more were left out", len(o.Notes)-n+1); j.State != job.Publishing || j.Outcome.Runs != 7 || j.Outcome.Notes[n-1] != want {
			t.Errorf("%s: %s with %d notes, the last %q, want %q", name, j.State, n, j.Outcome.Notes[n-1], want)
		}
	}
}

func notes(n int, text string) []string {
	l := make([]string, n)
	for i := range l {
		l[i] = text
	}
	return l
}
