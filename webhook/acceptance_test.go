package webhook

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/prbench/prbench/internal/job"
)

const slowName = "url/parse.js n=1000 method='legacy'"

// reported gives a job a published report that found benchmarks slower, each with
// the lower end of its interval.
func (w *world) reported(j job.Job, slower map[string]float64) {
	w.t.Helper()
	w.ended(j)
	_, err := w.store.Update(w.t.Context(), j.ID, func(j *job.Job) error {
		j.Published.Summary = &job.Summary{}
		for name, low := range slower {
			j.Published.Summary.Slower = append(j.Published.Summary.Slower,
				job.Finding{Benchmark: name, Verdict: "regression", Improvement: low / 2, Interval: [2]float64{low, low / 3}})
		}
		return nil
	})
	w.ok(err)
}

// newReported is a world with two reports that found benchmarks slower.
func newReported(t *testing.T) *world {
	w := newWorld(t, goodConfig)
	w.comment("writer", "/benchmark http\n/benchmark strings")
	jobs := w.jobs()
	w.reported(jobs[0], map[string]float64{slowName: -.05, "other": -.03})
	w.reported(jobs[1], map[string]float64{slowName: -.09})
	return w
}

func (w *world) accepts() []job.Accepted {
	w.t.Helper()
	all, err := w.store.Accepts(w.t.Context(), w.repo.ID)
	w.ok(err)
	return all
}

func TestAnAcceptedRegressionIsKeptAndTheReportsAreComposedAnew(t *testing.T) {
	t.Parallel()
	w := newReported(t)
	until := w.now().AddDate(0, 3, 0).UTC().Format(time.DateOnly)
	w.comment("writer", "/benchmark accept "+strings.ReplaceAll(slowName, "'", "")+" --reason “a fix of a hole” --until "+until)
	w.said("`"+slowName+"` is accepted as up to 9.0 % slower", "until the end of "+until)
	got := w.accepts()
	if len(got) != 1 {
		t.Fatalf("accepted %+v", got)
	}
	a := got[0]
	if a.Benchmark != slowName || a.Reason != "a fix of a hole" || a.By != "writer" || a.ByID == 0 || a.PR != w.pull.Number || a.Worst != -.09 ||
		a.At.IsZero() || a.Until.Format(time.DateTime) != until+" 23:59:59" {
		t.Errorf("accepted %+v", a)
	}
	for _, j := range w.jobs() {
		if j.Refresh == 0 || j.State != job.Done || j.Published.Revision >= j.Revision {
			t.Errorf("job %s: refresh %d, revision %d, published %d", j.ID, j.Refresh, j.Revision, j.Published.Revision)
		}
	}
	w.comment("writer", "/benchmark accept \""+slowName+"\" --reason again")
	if got := w.accepts(); len(got) != 1 || got[0].Reason != "again" || !got[0].Until.IsZero() {
		t.Errorf("accepted again: %+v", got)
	}
}

func TestWhatNoReportFoundIsAnsweredWithWhatCanBeAccepted(t *testing.T) {
	t.Parallel()
	w := newReported(t)
	w.comment("writer", "/benchmark accept oter --reason x")
	said := w.said("`oter` is not among the regressions", "Those are `other` and `"+slowName+"`")
	if len(w.accepts()) > 0 || strings.Contains(said, "suites") {
		t.Errorf("accepted %+v; %s", w.accepts(), said)
	}
	many := map[string]float64{}
	for i := range job.MaxFindings {
		many[fmt.Sprintf("%03d @everyone %s", i, strings.Repeat("x", 400))] = -.1
	}
	_, err := findBenchmark(many, "oter")
	if said := fmt.Sprint(err); len(said) > 20_000 || !strings.Contains(said, "`000 @everyone ") || !strings.Contains(said, "60 more") {
		t.Errorf("%d bytes: %s", len(said), said)
	}
}

func TestWhatAnOlderHeadDidIsNotAccepted(t *testing.T) {
	t.Parallel()
	report := func(head, name string, low float64) job.Job {
		return job.Job{Head: job.Side{SHA: head}, Published: job.Published{Summary: &job.Summary{Slower: []job.Finding{{Benchmark: name, Interval: [2]float64{low, low / 2}}}}}}
	}
	jobs := []job.Job{report("old", "a", -.5), report("old", "b", -.4), report("new", "a", -.03), report("new", "a", -.04), report("new", "a", -math.MaxFloat64),
		{Head: job.Side{SHA: "newest"}}}
	if got := regressions(jobs); len(got) != 2 || got["a"] != -.04 || got["b"] != -.4 {
		t.Errorf("got %v", got)
	}
}

func TestWhatHasNoLowerEndIsNotAccepted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, goodConfig)
	w.comment("writer", "/benchmark http")
	w.reported(w.onlyJob(), map[string]float64{slowName: -math.MaxFloat64})
	w.comment("writer", "/benchmark accept \""+slowName+"\" --reason x")
	w.said("`" + slowName + "` was too noisy to say how much slower")
	if got := w.accepts(); len(got) > 0 {
		t.Errorf("accepted %+v", got)
	}
}

func TestABenchmarkIsFoundWithoutItsQuotesUnlessTwoAreAlike(t *testing.T) {
	t.Parallel()
	found := map[string]float64{slowName: -.1, "a  b": -.1, "a 'b'": -.1}
	for name, want := range map[string]string{slowName: slowName, "url/parse.js  n=1000 method=legacy": slowName, "a  b": "a  b", "a b": "", "a": ""} {
		got, err := findBenchmark(found, name)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q finds %q, %v, want %q", name, got, err, want)
		}
	}
	if _, err := findBenchmark(nil, "a"); err == nil || !strings.Contains(err.Error(), "there is nothing to accept") {
		t.Errorf("without a report: %v", err)
	}
}

func TestAnAcceptanceNeedsThePermissionAndADayToCome(t *testing.T) {
	t.Parallel()
	w := newReported(t)
	w.comment("triager", "/benchmark accept other --reason x")
	w.said("`write` permission")
	for _, day := range []string{"2020-01-01", w.now().UTC().Format(time.DateOnly)} {
		w.comment("writer", "/benchmark accept other --reason x --until "+day)
	}
	for _, said := range w.replies()[1:] {
		if !strings.Contains(said, "is over: want a day after") {
			t.Errorf("reply %s", said)
		}
	}
	if got := w.accepts(); len(got) > 0 || len(w.replies()) != 3 {
		t.Errorf("accepted %+v; replies %q", got, w.replies())
	}
}
