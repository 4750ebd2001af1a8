package queue

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/prbench/prbench/internal/job"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func accepted(benchmark string, at time.Time) job.Accepted {
	return job.Accepted{Repository: 5, Benchmark: benchmark, Reason: "it is worth it", By: "writer", ByID: 3, PR: 7, At: at, Worst: -.05}
}

func TestTheLastAcceptanceOfABenchmarkCounts(t *testing.T) {
	q := open(t, func(o *Options) { o.Now = func() time.Time { return noon } })
	ctx := t.Context()
	first, second := accepted("url/parse.js n=1 \x00*>.", noon.Add(-2*time.Hour)), accepted("url/parse.js n=1 \x00*>.", noon.Add(-time.Hour))
	second.Worst, second.Reason = -.09, "for a fix"
	other := accepted("another", noon.Add(-3*time.Hour))
	elsewhere := accepted("another", noon)
	elsewhere.Repository = 55
	for _, a := range []job.Accepted{first, second, first, second, other, elsewhere} { // the first comes again, late
		if err := q.Accept(ctx, a); err != nil {
			t.Fatal(err)
		}
	}
	got, err := q.Accepts(ctx, 5)
	if diff := cmp.Diff([]job.Accepted{other, second}, got); err != nil || diff != "" {
		t.Errorf("%v; want - got +\n%s", err, diff)
	}
}

func TestAnAcceptanceWhoseTimeIsOverIsLeftOut(t *testing.T) {
	now := noon
	q := open(t, func(o *Options) { o.Now = func() time.Time { return now } })
	a := accepted("b", noon)
	a.Until = noon.Add(time.Hour)
	if err := errors.Join(q.Accept(t.Context(), a), q.Accept(t.Context(), accepted("for good", noon))); err != nil {
		t.Fatal(err)
	}
	for after, want := range map[time.Duration]int{59 * time.Minute: 2, time.Hour: 1, 1000 * time.Hour: 1} {
		now = noon.Add(after)
		if got, err := q.Accepts(t.Context(), 5); err != nil || len(got) != want {
			t.Errorf("after %s: %+v, %v, want %d", after, got, err, want)
		}
	}
}

func TestAnAcceptanceThatSaysNothingIsRefused(t *testing.T) {
	q := open(t)
	for name, spoil := range map[string]func(*job.Accepted){
		"no repository":  func(a *job.Accepted) { a.Repository = 0 },
		"no benchmark":   func(a *job.Accepted) { a.Benchmark = "" },
		"no time":        func(a *job.Accepted) { a.At = time.Time{} },
		"an improvement": func(a *job.Accepted) { a.Worst = .01 },
		"no number":      func(a *job.Accepted) { a.Worst = math.NaN() },
	} {
		a := accepted("b", noon)
		spoil(&a)
		if err := q.Accept(t.Context(), a); err == nil {
			t.Errorf("%s: it was kept", name)
		}
	}
}
