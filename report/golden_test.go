package report_test

import (
	"bytes"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/internal/testgolden"
	"github.com/prbench/prbench/report"
)

func golden(t *testing.T, name, got string) {
	t.Helper()
	testgolden.Check(t, filepath.Join("testdata", "golden", name), got)
}

// about is a pull request of a made-up project.
func about() report.About {
	return report.About{
		Repository: job.Repository{Owner: "acme", Name: "engine", HTMLURL: "https://forge.test/acme/engine"}, PR: 12,
		Base:    job.Side{SHA: "0123456789abcdef0123456789abcdef01234567", Ref: "main"},
		Head:    job.Side{SHA: "fedcba9876543210fedcba9876543210fedcba98", Ref: "dev-a:faster-parser"},
		Command: "process --runs 30 --margin 2%", Suites: []string{"process"},
		Host: job.Host{Name: "bench-1", CPU: "Some CPU @ 3.00GHz", Cores: 8, OS: "Debian 12", Kernel: "6.1.0", Sandbox: "bubblewrap", Calibration: &job.Calibration{
			At: time.Date(2024, 5, 4, 3, 2, 1, 0, time.UTC), Suite: "process", Benchmarks: 12, Pairs: 30, CV: .011, Detectable80: .0081, Worst80: .034, Correlation: .12,
			Stars: 1, ExpectedStars: .6}},
		Page:    "https://bench.test/r/4f2a",
		Started: time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC), Finished: time.Date(2024, 5, 6, 7, 39, 0, 0, time.UTC),
	}
}

// measured makes pairs of samples of a benchmark around two means.
func measured(c *report.Collector, rng *rand.Rand, name, unit string, old, new, cv float64, runs int) {
	for i := range runs {
		c.Add(job.Old, job.Sample{Benchmark: name, Unit: unit, Value: old * (1 + cv*rng.NormFloat64())}, i)
		c.Add(job.New, job.Sample{Benchmark: name, Unit: unit, Value: new * (1 + cv*rng.NormFloat64())}, i)
	}
}

// mixed has a benchmark of each kind.
func mixed() *report.Data {
	rng := rand.New(rand.NewPCG(1, 2))
	c := report.NewCollector()
	measured(c, rng, "process/regressed.js n=1", "ops/s", 1e6, .93e6, .01, 30)
	measured(c, rng, "process/slower.js n=1", "ops/s", 1e6, .985e6, .02, 30)
	measured(c, rng, "process/bit-slower.js n=1", "ops/s", 1e6, .99e6, .004, 30)
	measured(c, rng, "process/same.js n=1", "ops/s", 1e6, 1e6, .01, 30)
	measured(c, rng, "process/at-least.js n=1", "ops/s", 1e6, 1.006e6, .022, 30)
	measured(c, rng, "process/better.js n=1", "ops/s", 1e6, 1.2e6, .01, 30)
	measured(c, rng, "process/noisy.js n=1", "ops/s", 1e6, 1e6, .1, 30)
	measured(c, rng, "process/three-runs.js", "ops/s", 1e6, 1e6, .1, 3)
	measured(c, rng, "BenchmarkParse", "ns/op", 1250, 1300, .01, 30)
	measured(c, rng, "BenchmarkParse", "allocs/op", 12, 12, 0, 30)
	measured(c, rng, "BenchmarkParse", "MB/s", 12, 11.5, .01, 30)
	measured(c, rng, "BenchmarkStart", "allocs/op", 0, 2, 0, 30)
	c.Add(job.Old, job.Sample{Benchmark: "process/removed.js", Unit: "ops/s", Value: 1}, 0)
	c.Add(job.New, job.Sample{Benchmark: "process/added.js", Unit: "ops/s", Value: 1}, 0)
	c.Unreadable(2, "process/bad.js n=1: lots")
	return c.Data()
}

// failing is a job whose head crashed in some of its runs.
func failing() *report.Data {
	rng := rand.New(rand.NewPCG(3, 4))
	c := report.NewCollector()
	for pair := range 10 {
		for _, side := range []job.SideName{job.Old, job.New} {
			r := job.Run{Suite: "process", Case: "benchmark/process/fast.js", Side: side, Pair: pair, Wall: 1.5}
			if side == job.New && pair%4 == 3 {
				r.Exit, r.Log = 134, "assertion failed: ok\nAborted (core dumped)\n"
			} else {
				r.Samples = []job.Sample{{Benchmark: "process/fast.js", Config: "n=1", Unit: "ops/s", Value: 1000 + rng.NormFloat64()}}
			}
			c.AddRun(r)
		}
	}
	return c.Data()
}

func TestGoldenReports(t *testing.T) {
	for name, r := range map[string]*report.Report{
		"mixed":    analyse(t, mixed(), report.Options{About: about()}),
		"adaptive": analyse(t, mixed(), report.Options{Looks: []int{8, 15, 25}, Gate: true}),
		"failing":  analyse(t, failing(), report.Options{About: about()}),
		"empty":    analyse(t, &report.Data{}, report.Options{}),
	} {
		t.Run(name, func(t *testing.T) {
			golden(t, name+".txt", textOf(t, r))
			md := r.Markdown()
			golden(t, name+".md", md)
			checkHarmless(t, md, "https://forge.test/acme/engine/commit/", "https://bench.test/r/4f2a")
			var js, csv, screen bytes.Buffer
			if err := r.JSON(&js); err != nil {
				t.Fatal(err)
			}
			golden(t, name+".json", testgolden.RoundNumbers(js.String()))
			if err := r.Data.CSV(&csv); err != nil {
				t.Fatal(err)
			}
			if rows := strings.Count(csv.String(), "\n"); name == "mixed" && rows != 1+2*(30*11+3)+2 {
				t.Errorf("%d lines of CSV", rows)
			}
			if err := report.Terminal(&screen, md, false); err != nil {
				t.Fatal(err)
			}
			golden(t, name+".screen", screen.String())
		})
	}
}

func TestGoldenFailures(t *testing.T) {
	a := about()
	for name, o := range map[string]job.Outcome{
		"build-failed-head": {Kind: job.BuildFailed, Side: job.New, Text: "make exited with 2", Log: "gcc -c x.c\nx.c:3: error: no such thing\nmake: *** [x.o] Error 1\n"},
		"build-failed-base": {Kind: job.BuildFailed, Side: job.Old, Text: "timed out after 60m"},
		"nothing-measured":  {Kind: job.NothingMeasured, Log: "usage: bench FILE\n"},
		"checkout-failed":   {Kind: job.CheckoutFailed, Side: job.New, Text: "data/model.bin: the LFS object is not on the forge"},
		"fault":             {Kind: job.Fault, Text: "port 8080 is in use"},
		"clash": {Kind: job.Fault, Side: job.New, Text: "http: server.js on the new side found its port taken", Log: "Error: listen EADDRINUSE: address already in use :::12346\n",
			Clash: &job.Clash{Case: "http: server.js", Side: job.New, Tries: 3}},
		"stopped": {Kind: job.Stopped},
	} {
		t.Run(name, func(t *testing.T) {
			b := a
			if o.Kind == job.Fault {
				b.LostTries = []string{"try 1 on bench-1: lease expired", "try 2 on bench-2: disk full"}
			}
			if o.Kind == job.Stopped {
				b.Stopped = &job.Cancel{By: "dev-b", Reason: "not needed"}
			}
			md := report.Failure(b, o)
			golden(t, name+".md", md)
			checkHarmless(t, md, "https://forge.test/acme/engine/commit/", "https://bench.test/r/4f2a")
			c := report.FailureCheck(b, o)
			if c.Conclusion != report.Neutral || "### "+c.Title != md[:strings.IndexByte(md, '\n')] || c.Summary != md {
				t.Errorf("check run: %+v", c)
			}
		})
	}
}
