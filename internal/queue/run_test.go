package queue

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/prbench/prbench/internal/job"
)

func TestAJobGoesFromTheWishToThePublisherThroughARunner(t *testing.T) {
	q, f := open(t), &forge{}
	serve(t, q, f)
	made := create(t, q, wish(7, 3, "comment:1:benchmark"))
	if made.ID != "7.3.1" || made.State != job.Queued || made.Attempt != 1 || made.Revision != 1 {
		t.Fatalf("created %+v", made)
	}
	c := enroll(t, q, "box", "default")

	l := claim(t, c)
	if l.Job.ID != made.ID || l.Try != 1 || l.Job.Runner != c.Key() || l.Job.RunnerName != "box" || l.Job.State != job.Running {
		t.Fatalf("claimed %+v", l)
	}
	ctx := t.Context()
	tok, err := c.Token(ctx, made.ID, 1)
	if err != nil || tok.Value != "secret-7.3.1-0" {
		t.Fatalf("token %q: %v", tok.Value, err)
	}
	if err := c.Fetched(ctx, made.ID, 1); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{tok.Value}, f.gone()); d != "" {
		t.Errorf("tokens revoked after the fetch:\n%s", d)
	}
	b, err := c.Beat(ctx, made.ID, 1, job.Progress{Phase: job.PhaseMeasure, Done: 1, Total: 2})
	if err != nil || b.Lost || b.Cancel != nil {
		t.Fatalf("beat: %+v, %v", b, err)
	}
	if !b.LeaseEnd.After(l.End) {
		t.Errorf("the beat left the lease's end at %v, it was %v", b.LeaseEnd, l.End)
	}
	runs := []job.Run{
		{Suite: "s", Case: "a", Side: job.New, Samples: []job.Sample{{Benchmark: "a", Value: 2}}},
		{Suite: "s", Case: "a", Side: job.Old, Position: 1, Exit: 1, Log: "boom"},
	}
	for _, r := range runs {
		for range 2 { // sent again, kept once
			if err := c.Publish(ctx, made.ID, 1, r); err != nil {
				t.Fatal(err)
			}
		}
	}
	for range 2 {
		if err := c.Done(ctx, made.ID, 1, job.Outcome{Kind: job.Measured, Runs: 2}); err != nil {
			t.Fatal(err)
		}
	}
	j := get(t, q, made.ID)
	if j.State != job.Publishing || j.Outcome == nil || j.Outcome.Kind != job.Measured || j.Finished.IsZero() {
		t.Errorf("after done: %+v", j)
	}
	if d := cmp.Diff(runs, readRuns(t, q, c.Key(), made.ID, 1)); d != "" {
		t.Errorf("records read (-want +got):\n%s", d)
	}
	if b, err := c.Beat(ctx, made.ID, 1, job.Progress{}); err != nil || !b.Lost {
		t.Errorf("a beat after done: %+v, %v; want Lost", b, err)
	}
}

func readRuns(t testing.TB, q *Queue, runner string, id job.ID, try int) []job.Run {
	t.Helper()
	var rs []job.Run
	for r, err := range q.Runs(t.Context(), runner, id, try) {
		if err != nil {
			t.Fatal(err)
		}
		rs = append(rs, r)
	}
	return slices.Clip(rs)
}
