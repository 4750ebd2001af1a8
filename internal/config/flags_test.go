package config

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/prbench/prbench/internal/job"
)

func TestTheFlagsBeatTheConfig(t *testing.T) {
	cfg := parseFile(t, "every-key.yml")
	words := strings.Fields("http --filter ^a.*b$ --runs 12 --margin 5% --set n=1 --set m=x=y --pool other" +
		" --base v8.x-staging --sha 0123abc --budget 90m --harness head --gate=false")
	f, suites, err := ParseJobArgs(words)
	if err != nil {
		t.Fatal(err)
	}
	got, err := f.Spec(cfg, suites)
	if err != nil {
		t.Fatal(err)
	}
	http, _ := cfg.Suite("http")
	want := job.Spec{
		Pool: "other", Build: cfg.Build, Suites: []job.Suite{http}, Filter: "^a.*b$", Set: []string{"n=1", "m=x=y"},
		Runs: 12, Margin: .05, Alpha: .05, Budget: job.Duration(90 * time.Minute), Harness: job.HarnessHead,
		Gate: false, History: true, LFS: true, KeepLabel: true,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want - got +\n%s", diff)
	}
	if f.Base != "v8.x-staging" || f.SHA != "0123abc" {
		t.Errorf("want the base and the commit, got %q and %q", f.Base, f.SHA)
	}
}

func TestWithoutFlagsTheConfigDecides(t *testing.T) {
	cfg := parseFile(t, "every-key.yml")
	got, err := JobFlags{}.Spec(cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	http, _ := cfg.Suite("http")
	want := job.Spec{
		Pool: "bare-metal", Build: cfg.Build, Suites: []job.Suite{http}, Runs: 40, Margin: .015, Alpha: .05,
		Budget: job.Duration(2 * time.Hour), Harness: job.HarnessBase, Gate: true, History: true, LFS: true, KeepLabel: true,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want - got +\n%s", diff)
	}
}

func TestAdaptiveRunsCarryTheirLooksAndFixedOnesNone(t *testing.T) {
	for _, c := range []struct {
		file, flag string
		want       job.Runs
		looks      []int
	}{
		{"node.yml", "", job.Adaptive, DefaultLooks()},
		{"node.yml", "--runs=30", 30, nil},
		{"every-key.yml", "", 40, nil},
		{"every-key.yml", "--runs=adaptive", job.Adaptive, []int{5, 10}},
	} {
		var words []string
		if c.flag != "" {
			words = []string{c.flag}
		}
		flags, _, err := ParseJobArgs(words)
		if err != nil {
			t.Fatal(err)
		}
		got, err := flags.Spec(parseFile(t, c.file), nil)
		if err != nil {
			t.Fatal(err)
		}
		if got.Runs != c.want || !slices.Equal(got.Looks, c.looks) {
			t.Errorf("%s %s: want %v runs and looks %v, got %v and %v", c.file, c.flag, c.want, c.looks, got.Runs, got.Looks)
		}
	}
}

func TestASuiteNamedTwiceRunsOnce(t *testing.T) {
	got, err := JobFlags{}.Spec(parseFile(t, "every-key.yml"), []string{"start", "http", "start"})
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Suites) != 2 || got.Suites[0].Name != "start" || got.Suites[1].Name != "http" {
		t.Errorf("want start and http, got %v", got.Suites)
	}
}

func TestAnUnknownSuiteGetsTheValidOnes(t *testing.T) {
	_, err := JobFlags{}.Spec(parseFile(t, "every-key.yml"), []string{"htp"})
	var unknown *UnknownSuiteError
	if !errors.As(err, &unknown) {
		t.Fatalf("want an UnknownSuiteError, got %v", err)
	}
	if diff := cmp.Diff(&UnknownSuiteError{Name: "htp", Valid: []string{"http", "start"}}, unknown); diff != "" {
		t.Errorf("want - got +\n%s", diff)
	}
	if want := `unknown suite "htp"; the suites are http, start; did you mean "http"?`; err.Error() != want {
		t.Errorf("want %s, got %s", want, err)
	}
}

func TestAWrongFlagGetsAReplyThatHelps(t *testing.T) {
	all := "; the flags are --filter, --runs, --margin, --set, --pool, --base, --sha, --budget, --harness, --gate"
	tests := []struct{ words, want string }{
		{"--run 30", `unknown flag "--run"` + all + `; did you mean "--runs"?`},
		{"--frobnicate=x", `unknown flag "--frobnicate"` + all},
		{"-x", `unknown flag "-x"` + all},
		{"--=x", `unknown flag "--=x"` + all},
		{"--runs", "--runs: needs a value: N|adaptive"},
		{"--runs 0", `--runs: want adaptive or a whole number from 1 to 10000, got "0"`},
		{"--runs 1e9", `--runs: want adaptive or a whole number from 1 to 10000, got "1e9"`},
		{"--margin 60%", `--margin: want more than 0% and at most 50%, got "60%"`},
		{"--margin nan", `--margin: want a percentage such as 2% or a fraction such as 0.02, got "nan"`},
		{"--set n", `--set: want key=value, got "n"`},
		{"--set --x=1", `--set: want a key of letters, digits, _ . and -, starting with a letter, got "--x"`},
		{"--pool a.b", `--pool: want a pool's name (letters, digits, - and _; at most 63), got "a.b"`},
		{"--base --upload-pack=x", `--base: want the name of a branch or tag, got "--upload-pack=x"`},
		{"--base a..b", `--base: want the name of a branch or tag, got "a..b"`},
		{"--sha HEAD", `--sha: want a commit's hash of 7 to 64 hex digits, got "HEAD"`},
		{"--budget 5", `--budget: want a duration such as 90s, 5m or 1h, got "5"`},
		{"--budget 48h", `--budget: want a duration from 1m to 24h, got "48h"`},
		{"--harness both", `--harness: want base or head, got "both"`},
		{"--gate=maybe", `--gate: want no value, true or false, got "maybe"`},
		{"--filter (", "--filter: want a regular expression (RE2): missing closing ): `(`"},
		{"--filter (a{1000}){1000}", "--filter: want a regular expression (RE2): invalid repeat count: `{1000}`"},
		{"--filter " + strings.Repeat("a", 201), "--filter: want at most 200 bytes, got 201"},
	}
	for _, tt := range tests {
		_, _, err := ParseJobArgs(strings.Fields(tt.words))
		var wrong *FlagError
		if !errors.As(err, &wrong) {
			t.Errorf("%s: want a FlagError, got %v", tt.words, err)
			continue
		}
		if err.Error() != tt.want {
			t.Errorf("%.60s:\nwant %s\ngot  %s", tt.words, tt.want, err)
		}
	}
}

func TestHelpIsToldApartFromAMistake(t *testing.T) {
	for _, words := range [][]string{{"--help"}, {"-h"}} {
		if _, _, err := ParseJobArgs(words); !errors.Is(err, pflag.ErrHelp) {
			t.Errorf("%v: want pflag.ErrHelp, got %v", words, err)
		}
	}
}

func TestAValueForACommandThatTakesNoneIsRefused(t *testing.T) {
	_, err := JobFlags{Set: []string{"n=1"}}.Spec(parseFile(t, "every-key.yml"), []string{"start"})
	if want := "--set: the command of suite start has no {set} to take it"; err == nil || err.Error() != want {
		t.Errorf("want %s, got %v", want, err)
	}
}

func TestFlagsThatNoFlagSetHasReadAreCheckedToo(t *testing.T) {
	cfg := parseFile(t, "node.yml")
	for _, f := range []JobFlags{{Filter: "("}, {Pool: "a b"}, {Base: "-x"}, {SHA: "zz"}, {Set: []string{"a\nb=1"}},
		{Set: make([]string, maxSets+1)}} {
		var wrong *FlagError
		if _, err := f.Spec(cfg, nil); !errors.As(err, &wrong) {
			t.Errorf("%+v: want a FlagError, got %v", f, err)
		}
	}
}

func TestTheHelpOfTheCommandLineShowsEveryFlag(t *testing.T) {
	fs := pflag.NewFlagSet("compare", pflag.ContinueOnError)
	new(JobFlags).Register(fs)
	usage := fs.FlagUsages()
	for _, want := range append(FlagNames(), "--runs N|adaptive", "--set k=v", "--harness base|head") {
		if !strings.Contains(usage, want) {
			t.Errorf("want %q in the help:\n%s", want, usage)
		}
	}
}

func FuzzParseJobArgs(f *testing.F) {
	f.Add("http --runs 30 --set a=b --gate")
	f.Add("--filter=(?i)x -- --runs")
	f.Add("-vvv --=--")
	cfg, err := LoadRepo("testdata/repo/node.yml")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, line string) {
		flags, suites, err := ParseJobArgs(strings.Split(line, " "))
		var wrong *FlagError
		if err != nil {
			if !errors.As(err, &wrong) && !errors.Is(err, pflag.ErrHelp) {
				t.Fatalf("want a FlagError, got %T %v", err, err)
			}
			return
		}
		spec, err := flags.Spec(cfg, suites)
		var unknown *UnknownSuiteError
		switch {
		case err == nil && (len(spec.Suites) == 0 || spec.Runs < job.Adaptive || spec.Runs == job.Adaptive && len(spec.Looks) == 0 || spec.Margin <= 0 || spec.Margin > .5 || spec.Budget <= 0):
			t.Fatalf("%q made a job that cannot run: %+v", line, spec)
		case err != nil && !errors.As(err, &wrong) && !errors.As(err, &unknown):
			t.Fatalf("want a typed error, got %T %v", err, err)
		}
	})
}
