package calibrate

import (
	"errors"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/report/stats"
)

var noon = time.Date(2024, 5, 6, 12, 0, 0, 0, time.UTC)

// spec is an A/A comparison of a number of suites.
func spec(suites ...string) job.Spec {
	s := job.Spec{Runs: Runs, Margin: .02, Alpha: .05}
	for _, name := range suites {
		s.Suites = append(s.Suites, job.Suite{Name: name})
	}
	return s
}

// noisy adds pairs of a benchmark around 1000 with a cv, of which the share of
// both runs of a pair together is shared.
func noisy(t *Tally, rng *rand.Rand, name string, pairs int, cv, shared float64) {
	for pair := range pairs {
		together := math.Sqrt(shared) * rng.NormFloat64()
		for _, side := range []job.SideName{job.Old, job.New} {
			x := together + math.Sqrt(1-shared)*rng.NormFloat64()
			t.Add(job.Run{Suite: "main", Case: name, Side: side, Pair: pair, Samples: []job.Sample{{Benchmark: name, Unit: "ops/s", Value: 1000 * (1 + cv*x)}}})
		}
	}
}

func judge(t *testing.T, tally *Tally, s job.Spec) *Result {
	t.Helper()
	r, err := tally.Judge(s, job.Side{SHA: "abc", Ref: "main"}, job.Host{Name: "bench-1", Calibration: &job.Calibration{}}, noon)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func within(t *testing.T, what string, got *float64, low, high float64) {
	t.Helper()
	if got == nil || !(*got >= low && *got <= high) {
		t.Errorf("%s: got %v, want %v to %v", what, got, low, high)
	}
}

func TestTheNoiseOfAMachineIsFoundAgain(t *testing.T) {
	tally, rng := NewTally(), rand.New(rand.NewPCG(1, 1))
	for _, name := range []string{"a", "b", "c"} {
		noisy(tally, rng, name, 400, .03, 0)
	}
	noisy(tally, rng, "loud", 400, .09, 0)
	r := judge(t, tally, spec("main"))
	within(t, "cv", r.Summary.CV.Median, .027, .033)
	within(t, "the noisiest's cv", r.Summary.CV.Worst, .083, .097)
	// What 400 runs a side detect: (1.96 + .84)·cv·√(2/400).
	within(t, "detectable", r.Summary.Detectable["80"].Median, .0054, .0066)
	within(t, "the noisiest's", r.Summary.Detectable["80"].Worst, .016, .020)
	within(t, "correlation", r.Summary.Correlation, -.1, .1)
	if r.Summary.Analysis != "" || r.Summary.Benchmarks != 4 || r.Design.Analysis != stats.Welch || r.Host.Calibration != nil {
		t.Errorf("%+v, %+v", r.Summary, r.Design)
	}
	sees := r.Sees()
	want := &job.Calibration{At: noon, Suite: "main", Benchmarks: 4, Pairs: 400, CV: *r.Summary.CV.Median, Correlation: *r.Summary.Correlation,
		Detectable80: *r.Summary.Detectable["80"].Median, Worst80: *r.Summary.Detectable["80"].Worst,
		Stars: r.Summary.FalseStars["*"].Seen, ExpectedStars: r.Summary.FalseStars["*"].Expected, Drifting: r.Summary.Drifting}
	if diff := cmp.Diff(want, sees); diff != "" {
		t.Errorf("want - got +\n%s", diff)
	}
}

func TestPairsThatGoTogetherSuggestThePairedAnalysis(t *testing.T) {
	tally, rng := NewTally(), rand.New(rand.NewPCG(2, 2))
	noisy(tally, rng, "a", 300, .03, .6)
	r := judge(t, tally, spec("main"))
	within(t, "correlation", r.Summary.Correlation, .5, .7)
	if r.Summary.Analysis != string(stats.Paired) {
		t.Errorf("suggested: %q", r.Summary.Analysis)
	}
}

func TestEveryStarIsCountedAsFalse(t *testing.T) {
	tally, rng := NewTally(), rand.New(rand.NewPCG(3, 3))
	noisy(tally, rng, "quiet", 30, .01, 0)
	for pair := range 30 { // a machine on which the second path is slower
		for side, shift := range map[job.SideName]float64{job.Old: 0, job.New: 50} {
			tally.Add(job.Run{Suite: "main", Case: "x", Side: side, Pair: pair, Samples: []job.Sample{{Benchmark: "x", Unit: "ops/s", Value: 1000 - shift + rng.NormFloat64()}}})
		}
	}
	r := judge(t, tally, spec("main"))
	got := r.Summary.FalseStars
	if got["***"].Seen != 1 || got["*"].Seen < 1 || got["*"].Expected != .1 || math.Abs(got["***"].Chance-.001999) > 1e-9 {
		t.Errorf("%+v", got)
	}
}

func TestTheShortFormKeepsWhatTheFiguresAreWorth(t *testing.T) {
	tally := NewTally()
	for pair := range 30 { // the new side is always slower, as on a machine that changed
		for i, side := range []job.SideName{job.Old, job.New} {
			for _, name := range []string{"a", "b", "c"} {
				tally.Add(job.Run{Suite: "main", Side: side, Pair: pair, Samples: []job.Sample{{Benchmark: name, Unit: "ops/s", Value: float64(1000 - 100*i + pair%3)}}})
			}
		}
	}
	r := judge(t, tally, spec("main"))
	r.Repository, r.Host.Unfit, r.Host.Setup = 7, []string{"it swapped"}, "kernel 6.1.0"
	c := r.Sees()
	if c.Stars != 3 || !c.TooManyStars || c.ExpectedStars != r.Summary.FalseStars["*"].Expected || c.Repository != 7 || c.Setup != "kernel 6.1.0" || len(c.Unfit) != 1 {
		t.Errorf("%+v", c)
	}
}

func TestWhatTellsNothingSaysWhy(t *testing.T) {
	tally, rng := NewTally(), rand.New(rand.NewPCG(4, 4))
	noisy(tally, rng, "few", 3, .01, 0)
	for pair := range 10 {
		for _, side := range []job.SideName{job.Old, job.New} {
			tally.Add(job.Run{Suite: "main", Case: "c", Side: side, Pair: pair, Samples: []job.Sample{
				{Benchmark: "flat", Unit: "allocs/op", Value: 7},
				{Benchmark: "twin", Unit: "ns/op", Value: 10 + rng.Float64()},
				{Benchmark: "twin", Unit: "MB/s", Value: 10 + rng.Float64()},
				{Benchmark: "broken", Unit: "ns/op", Invalid: "nan"}}})
		}
	}
	tally.Add(job.Run{Suite: "main", Case: "c", Side: job.Old, Pair: 10, Exit: 1})
	r := judge(t, tally, spec("main"))
	why := map[string]string{}
	for _, b := range r.Benchmarks {
		why[b.Name] = b.Why
	}
	want := map[string]string{"few": "too few runs", "flat": "no spread", "twin": "", "broken": "too few runs"}
	if diff := cmp.Diff(want, why); diff != "" || len(r.Benchmarks) != 4 {
		t.Errorf("want - got +\n%s", diff)
	}
	if r.Summary.Benchmarks != 1 || r.Summary.FailedProcesses != 1 {
		t.Errorf("%+v", r.Summary)
	}
	if empty := judge(t, NewTally(), spec("main")); empty.Sees() != nil {
		t.Errorf("nothing measured: %+v", empty.Sees())
	}
}

func TestAKeptCalibrationIsReadAgain(t *testing.T) {
	tally := NewTally()
	noisy(tally, rand.New(rand.NewPCG(5, 5)), "a", 20, .01, 0)
	r := judge(t, tally, spec("main", "more"))
	path := filepath.Join(t.TempDir(), "calibration.json")
	for range 2 { // also in place of another
		if err := r.Write(path); err != nil {
			t.Fatal(err)
		}
	}
	again, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(r, again); diff != "" {
		t.Errorf("written - read +\n%s", diff)
	}
	if again.Sees().Suite != "main, more" {
		t.Errorf("suites: %q", again.Sees().Suite)
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 1 {
		t.Errorf("left: %v, %v", left, err)
	}
}

func TestAFileThatIsNoCalibrationIsRefused(t *testing.T) {
	dir := t.TempDir()
	if _, err := Read(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
	for text, want := range map[string]string{"{": "bot calibrate --out", "{}": "want schema 1, got 0", `{"schema": 9}`: "got 9"} {
		path := filepath.Join(dir, "x.json")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	if _, err := Read(dir); err == nil {
		t.Error("a folder is read")
	}
}

func TestTheChanceOfSoManyStarsIsTheBinomialOne(t *testing.T) {
	// pbinom(k-1, n, p, lower.tail = FALSE) in R.
	for _, c := range []struct {
		k, n int
		p    float64
		want float64
	}{{0, 10, .05, 1}, {1, 20, .05, .64151407759}, {4, 20, .05, .01590152602}, {17, 200, .05, .02379945975}} {
		if got := atLeast(c.k, c.n, c.p); math.Abs(got-c.want) > 1e-10 {
			t.Errorf("%d of %d at %v: %v, want %v", c.k, c.n, c.p, got, c.want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"schema":1,"at":"2024-05-06T12:00:00Z","benchmarks":[{"pairs":3}],"summary":{"cv":{"median":0.1,"worst":0.2},"detectable":{"80":{"median":1}}}}`))
	path := filepath.Join(f.TempDir(), "x.json")
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if r, err := Read(path); err == nil {
			r.Sees()
		}
	})
}
