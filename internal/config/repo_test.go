package config

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/prbench/prbench/internal/job"
)

func parseFile(t *testing.T, name string) *Repo {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "repo", name))
	if err != nil {
		t.Fatal(err)
	}
	r, err := ParseRepo(data, name)
	if err != nil {
		t.Fatalf("parse %s:\n%v", name, err)
	}
	return r
}

func TestTheDocumentedConfigIsReadAsWritten(t *testing.T) {
	want := &Repo{
		File:    "node.yml",
		Trigger: Trigger{Label: "benchmark", Permission: PermissionWrite},
		Pool:    "default",
		Build:   job.Build{Run: "./configure && make -j4", Timeout: job.Duration(time.Hour)},
		Suites: []job.Suite{{
			Name: "process", Format: job.FormatNode, Cases: []string{"benchmark/process/*.js"},
			Command: "out/Release/node {case} {set}", Output: "stdout", Harness: []string{"benchmark/**"},
			Timeout: job.Duration(5 * time.Minute), Default: true,
		}},
		Compare: Compare{
			Runs: job.Adaptive, Looks: []int{8, 15, 25, 40, 65, 100}, Margin: .02, Budget: job.Duration(time.Hour),
		},
		ReleaseLines: []string{"v8.x-staging", "v9.x-staging"},
	}
	if diff := cmp.Diff(want, parseFile(t, "node.yml")); diff != "" {
		t.Errorf("want - got +\n%s", diff)
	}
}

func TestEveryKeyHasItsEffect(t *testing.T) {
	want := &Repo{
		File:    "every-key.yml",
		Trigger: Trigger{Label: "run benchmarks", Permission: PermissionMaintain, KeepLabel: true},
		Pool:    "bare-metal",
		Build: job.Build{Run: "./configure\nmake -j4\n", Network: []string{"proxy.example.org", "files.example.org"},
			Timeout: job.Duration(90 * time.Minute)},
		Suites: []job.Suite{{
			Name: "http", Format: job.FormatNode, Cases: []string{"benchmark/http/*.js", "benchmark/https/simple.js"},
			Command: "out/Release/node {case} {set}", Output: "stdout", Harness: []string{"benchmark/**", "tools/bench.js"},
			Timeout: job.Duration(150 * time.Second), Default: true, Adhoc: "out/Release/node {case}", AdhocFile: "bench.mjs",
			Unit: "ops/s", Better: job.Higher, Counts: []string{"allocs/op"}, Analysis: "paired",
		}, {
			Name: "start", Format: job.FormatHyperfine, Output: "{out}",
			Command: "hyperfine --export-json {out} 'out/Release/node -e 0'",
			Timeout: DefaultSuiteTimeout, Unit: "s", Better: job.Lower, Analysis: "welch",
		}},
		Compare: Compare{Runs: 40, Looks: []int{5, 10}, Margin: .015,
			Budget: job.Duration(2 * time.Hour), Gate: true},
		ReleaseLines:  []string{"v8.x-staging", "1.10"},
		BackportLabel: "backport-requested-*",
		History:       true,
		LFS:           true,
	}
	if diff := cmp.Diff(want, parseFile(t, "every-key.yml")); diff != "" {
		t.Errorf("want - got +\n%s", diff)
	}
}

func TestAConfigOfOneSuiteNeedsNoMoreThanHowToRunIt(t *testing.T) {
	r := parseFile(t, "smallest.yml")
	if len(r.Defaults()) != 1 {
		t.Errorf("the only suite must be the default, got %d defaults", len(r.Defaults()))
	}
	if r.Compare.Runs != job.Adaptive || len(r.Compare.Looks) != 6 {
		t.Errorf("want the six planned looks of an adaptive comparison, got %v runs, looks %v", r.Compare.Runs, r.Compare.Looks)
	}
	if r.Pool != "default" || r.Trigger.Label != "benchmark" || r.Trigger.Permission != PermissionWrite {
		t.Errorf("want the documented defaults, got %+v %+v", r.Pool, r.Trigger)
	}
}
