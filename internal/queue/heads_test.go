package queue

import (
	"strings"
	"testing"
	"time"
)

func TestTheNewestHeadOfAPullRequestIsKeptWithTheTimeItLastBecameOne(t *testing.T) {
	q := open(t)
	ctx := t.Context()
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	a, x := strings.Repeat("a", 40), strings.Repeat("e", 40)
	if _, ok, err := q.Head(ctx, 1, 2); ok || err != nil {
		t.Errorf("before the first note: %v, %v", ok, err)
	}
	for _, step := range []struct {
		sha  string
		at   time.Duration
		want Head
	}{
		{a, 0, Head{a, noon}},
		{x, 2 * time.Hour, Head{x, noon.Add(2 * time.Hour)}},
		{a, time.Hour, Head{x, noon.Add(2 * time.Hour)}}, // told late
		{x, 2 * time.Hour, Head{x, noon.Add(2 * time.Hour)}},
		{a, 3 * time.Hour, Head{a, noon.Add(3 * time.Hour)}},
		{x, 4 * time.Hour, Head{x, noon.Add(4 * time.Hour)}},
	} {
		got, err := q.BecameHead(ctx, 1, 2, step.sha, noon.Add(step.at))
		if err != nil || got != step.want {
			t.Errorf("after %s at %s: %+v, %v, want %+v", step.sha[:1], step.at, got, err, step.want)
		}
		if kept, ok, err := q.Head(ctx, 1, 2); err != nil || !ok || kept != step.want {
			t.Errorf("kept %+v, %v, %v, want %+v", kept, ok, err, step.want)
		}
	}
	if first, ok, err := q.Seen(ctx, 1, 2, x); err != nil || !ok || !first.Equal(noon.Add(2*time.Hour)) {
		t.Errorf("first seen %v, %v, %v", first, ok, err)
	}
	if _, ok, err := q.Head(ctx, 1, 3); ok || err != nil {
		t.Errorf("another pull request: %v, %v", ok, err)
	}
	if _, err := q.BecameHead(ctx, 1, 2, "main", noon); err == nil {
		t.Error("a branch is noted as a head")
	}
}
