package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prbench/prbench/internal/testgolden"
)

// call runs a command line in this process.
func call(ctx context.Context, args ...string) (code int, out, errs string) {
	var o, e strings.Builder
	code = run(ctx, args, stream{in: strings.NewReader(""), out: &o, err: &e})
	return code, o.String(), e.String()
}

func TestPowerSaysWhatADesignCouldDetect(t *testing.T) {
	samples := filepath.Join("testdata", "power", "samples.csv")
	for name, args := range map[string][]string{
		"adaptive.txt":   {"--cv", "3%", "--effect", "-2%", "--reps", "1000"},
		"adaptive.json":  {"--cv", "0.03", "--effect", "-2%", "--reps", "1000", "--format", "json"},
		"fixed.txt":      {"--cv", "2%", "--runs", "30", "--margin", "1%", "--reps", "1000", "--seed", "7"},
		"hopeless.txt":   {"--cv", "60%", "--looks", "8,16", "--reps", "200"},
		"from.txt":       {"--from", samples, "--reps", "300"},
		"from.json":      {"--from", samples, "--reps", "300", "--format", "json"},
		"from-fixed.txt": {"--from", samples, "--reps", "300", "--runs", "12"},
	} {
		code, out, errs := call(t.Context(), append([]string{"power"}, args...)...)
		if code != exitOK || errs != "" {
			t.Errorf("%s: exit %d, %s", name, code, errs)
			continue
		}
		testgolden.Check(t, filepath.Join("testdata", "power", name), out)
	}
}

func TestTheChancesOfPowerAreSharesOfOne(t *testing.T) {
	code, out, errs := call(t.Context(), "power", "--cv", "2%", "--reps", "500", "--format", "json")
	var got struct {
		Benchmarks []struct {
			Verdicts   map[string]float64
			Detectable map[string]float64
			Mean       float64 `json:"mean_runs"`
			Needed     int     `json:"runs_needed"`
		}
	}
	if err := json.Unmarshal([]byte(out), &got); code != exitOK || err != nil || len(got.Benchmarks) != 1 {
		t.Fatalf("exit %d, %v, %s", code, err, errs)
	}
	sum := 0.0
	for _, p := range got.Benchmarks[0].Verdicts {
		sum += p
	}
	b := got.Benchmarks[0]
	if sum < 0.999999 || sum > 1.000001 || !(b.Detectable["50"] < b.Detectable["80"] && b.Detectable["80"] < b.Detectable["90"]) || b.Mean < 8 || b.Mean > 100 || b.Needed != 21 {
		t.Errorf("the chances sum to %g; %+v", sum, b)
	}
}

func TestPowerRefusesWhatItCannotUseByName(t *testing.T) {
	table := filepath.Join(t.TempDir(), "table.txt")
	if err := os.WriteFile(table, []byte("                     confidence improvement accuracy (*)   (**)  (***)\n a.js n=1             ***    -5.00 %       ±1.00% ±1.50% ±2.00%\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "--cv"},
		{[]string{"--cv", "3%", "--from", "x.csv"}, "either --cv"},
		{[]string{"--cv", "3"}, "--cv: want a percentage above 0% and at most 100%"},
		{[]string{"--cv", "-1%"}, "--cv"},
		{[]string{"--cv", "nan"}, "--cv"},
		{[]string{"--cv", "3%", "--margin", "60%"}, "--margin"},
		{[]string{"--cv", "3%", "--runs", "1"}, "--runs: want 2 or more"},
		{[]string{"--cv", "3%", "--runs", "many"}, "--runs: want adaptive or a whole number"},
		{[]string{"--cv", "3%", "--runs", "30", "--looks", "8,15"}, "--looks: want it with --runs adaptive"},
		{[]string{"--cv", "3%", "--looks", "8,8"}, "--looks: look 2"},
		{[]string{"--cv", "3%", "--effect", "150%"}, "--effect"},
		{[]string{"--cv", "3%", "--reps", "5"}, "--reps: want 100 to"},
		{[]string{"--cv", "3%", "--seed", "x"}, "--seed"},
		{[]string{"--cv", "3%", "--format", "html"}, "--format: want text or json"},
		{[]string{"--cv", "3%", "more"}, `"more"`},
		{[]string{"--from", filepath.Join(t.TempDir(), "none.csv")}, "none.csv"},
		{[]string{"--from", table}, "printed table"},
	} {
		code, out, errs := call(t.Context(), append([]string{"power"}, c.args...)...)
		if code != exitUsage || out != "" || !strings.Contains(errs, c.want) {
			t.Errorf("%v: exit %d, %q, want %q", c.args, code, errs, c.want)
		}
	}
}

func TestAStopEndsALongSimulation(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	code, out, errs := call(ctx, "power", "--cv", "5%", "--reps", "10000000")
	if code != exitFailed || out != "" || !strings.Contains(errs, "stopped") {
		t.Errorf("exit %d, %q, %q", code, out, errs)
	}
}
