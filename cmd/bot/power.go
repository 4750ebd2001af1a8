package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/prbench/prbench/internal/benchfmt"
	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/report"
	"github.com/prbench/prbench/report/stats"
	"github.com/prbench/prbench/report/stats/simulate"
)

// powerFlags are the flags of bot power, as typed.
type powerFlags struct {
	cv, margin, runs, effect, from, format string
	looks                                  []int
	reps                                   int
	seed                                   uint64
}

// Bounds and defaults of --reps.
const (
	defaultReps = 20_000
	fewestReps  = 100
	mostReps    = 10_000_000
	// fewestShared is how many replicates each benchmark of --from has at least,
	// when they share the default number.
	fewestShared = 1_000
)

func newPower(s stream) *cobra.Command {
	var f powerFlags
	cmd := &cobra.Command{
		Use:   "power --cv 3% | --from samples.csv",
		Short: "Say what a comparison could detect, before it is run",
		Long: "Simulates comparisons of a benchmark whose noise is known: how many runs they take, how likely each\n" +
			"verdict is when the true improvement is --effect (negative is slower), and which changes they detect.\n" +
			"--from draws the noise of each benchmark from samples that were measured before.",
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return power(cmd.Context(), f, s) },
	}
	set := cmd.Flags()
	set.StringVar(&f.cv, "cv", "", "the coefficient of variation of one run: its standard deviation as a share of the mean")
	set.StringVar(&f.from, "from", "", "take the noise of each benchmark from a file of samples; - is standard input")
	set.StringVar(&f.margin, "margin", "2%", "the change that matters, above 0% and at most 50%")
	set.StringVar(&f.runs, "runs", "adaptive", "runs a side, or adaptive: as many as it takes, decided at planned looks")
	set.IntSliceVar(&f.looks, "looks", nil, "the planned looks of adaptive runs, in pairs (default "+joinInts(stats.DefaultLooks())+")")
	set.StringVar(&f.effect, "effect", "0%", "the true improvement that the chances are for; negative is slower")
	set.IntVar(&f.reps, "reps", 0, fmt.Sprintf("simulated comparisons of each benchmark (default %d; with --from that many in all, at least %d each)", defaultReps, fewestShared))
	set.Uint64Var(&f.seed, "seed", 1, "the same seed gives the same figures")
	set.StringVar(&f.format, "format", "text", "text or json")
	return cmd
}

// prospect is a benchmark of which the power is asked.
type prospect struct {
	name, unit string
	cv         float64 // of one run, as the report gives it
	scenario   simulate.Scenario
	// group are the benchmarks that one process measures together, and seconds
	// how long a pair of its processes takes, 0 unknown.
	group   string
	seconds float64
	// skipped says why there is nothing to simulate.
	skipped string
	power   simulate.Power
}

func power(ctx context.Context, f powerFlags, s stream) error {
	p, err := f.plan()
	if err != nil {
		return err
	}
	if f.from == "" {
		if p.prospects, err = f.single(p.design, p.effect); err != nil {
			return err
		}
	} else if p.prospects, p.warnings, err = f.measured(p, s); err != nil {
		return err
	}
	if p.reps == 0 {
		p.reps = max(defaultReps/len(p.prospects), min(defaultReps, fewestShared))
	}
	if err := p.simulate(ctx, newProgress(s.err)); err != nil {
		return err
	}
	for _, w := range p.warnings {
		_, _ = fmt.Fprintln(s.err, w)
	}
	if f.format == "json" {
		return p.json(s.out)
	}
	return p.text(s.out)
}

// powerPlan is what is simulated.
type powerPlan struct {
	design    stats.Design
	effect    float64
	reps      int // of each prospect
	seed      uint64
	from      bool
	prospects []*prospect
	warnings  []string
}

// plan reads the flags that hold for every benchmark.
func (f powerFlags) plan() (*powerPlan, error) {
	p := &powerPlan{seed: f.seed, reps: f.reps, from: f.from != ""}
	if (f.cv == "") == (f.from == "") {
		return nil, usageError("want either --cv, such as --cv 3%%, or --from with a file of samples")
	}
	if f.format != "text" && f.format != "json" {
		return nil, usageError("--format: want text or json, got %q", f.format)
	}
	if f.reps != 0 && (f.reps < fewestReps || f.reps > mostReps) {
		return nil, usageError("--reps: want %d to %d, got %d", fewestReps, mostReps, f.reps)
	}
	var err error
	if p.design.Margin, err = job.ParseMargin(f.margin); err != nil {
		return nil, usageError("--%v", err)
	}
	runs, err := job.ParseRuns(f.runs)
	if err != nil {
		return nil, usageError("--%v", err)
	}
	if runs == 1 {
		return nil, usageError("--runs: want 2 or more, since one run has no spread")
	}
	p.design.Runs = int(runs)
	if p.design.Looks, err = planned(runs == job.Adaptive, f.looks); err != nil {
		return nil, err
	}
	if p.effect, err = job.ParseFraction(f.effect); err != nil || !(p.effect > -1 && p.effect < 1) {
		return nil, usageError("--effect: want a percentage between -100%% and 100%%, such as -2%%, got %q", f.effect)
	}
	p.design = p.design.WithDefaults()
	return p, nil
}

// single is the benchmark of --cv.
func (f powerFlags) single(d stats.Design, effect float64) ([]*prospect, error) {
	cv, err := job.ParseFraction(f.cv)
	if err != nil || !(cv > 0 && cv <= 1) {
		return nil, usageError("--cv: want a percentage above 0%% and at most 100%%, such as 3%%, got %q", f.cv)
	}
	return []*prospect{{cv: cv, scenario: simulate.Scenario{Design: d, CV: cv, Effect: effect}}}, nil
}

// measured are the benchmarks of --from.
func (f powerFlags) measured(p *powerPlan, s stream) ([]*prospect, []string, error) {
	data, err := f.read(s)
	if err != nil {
		return nil, nil, err
	}
	if len(data.Series) == 0 {
		return nil, nil, fmt.Errorf("%s: no benchmark to take the noise of", f.from)
	}
	var all []*prospect
	within := 0
	exact, seconds := benchfmt.ExactUnits(nil), pairSeconds(data)
	for _, series := range data.Series {
		if series.WithinProcess {
			within++
		}
		one := prospectOf(series, p, exact)
		one.group, one.seconds = series.Process(), seconds[series.Process()]
		all = append(all, one)
	}
	slices.SortStableFunc(all, func(a, b *prospect) int { return strings.Compare(a.name+a.unit, b.name+b.unit) })
	var warnings []string
	if within > 0 {
		warnings = append(warnings, fmt.Sprintf("within-process: %d of %d benchmarks have several values of one process, which differ less than processes do: these figures promise too much", within, len(all)))
	}
	return all, warnings, nil
}

// read collects the samples of --from.
func (f powerFlags) read(s stream) (*report.Data, error) {
	in, err := open(f.from, s.in)
	if err != nil {
		return nil, err
	}
	c := report.NewCollector()
	samples := reportFlags{input: "auto"}
	format, r, err := samples.detect(in, f.from)
	switch {
	case err != nil:
	case format == benchfmt.FormatTable:
		err = usageError("--from: %s is a printed table, which holds no samples: want a file of samples, or --cv", f.from)
	default:
		err = samples.collect(c, r, f.from, format, "")
	}
	if err = errors.Join(err, in.Close()); err != nil {
		return nil, err
	}
	return c.Data(), nil
}

// prospectOf takes the noise from a benchmark's samples: their spread and shape
// where both sides were measured, the spread alone of a single side.
func prospectOf(series *report.Series, p *powerPlan, exact map[string]bool) *prospect {
	in := series.Input(exact)
	one := &prospect{name: report.Visible(series.Name()), unit: series.Unit,
		scenario: simulate.Scenario{Design: p.design, Effect: p.effect, Better: in.Better, From: in}}
	c := stats.Compare(in, stats.Design{Analysis: p.design.Analysis})
	one.cv = c.CV
	if c.Old.N == 0 || c.New.N == 0 {
		side := c.Old
		if c.Old.N == 0 {
			side = c.New
		}
		one.cv = side.CV
		one.scenario.From, one.scenario.CV = stats.Input{}, side.CV
		if side.N < stats.MinRuns {
			one.skipped = fmt.Sprintf("%d samples, %d needed", side.N, stats.MinRuns)
			return one
		}
	}
	switch err := one.scenario.Validate(); {
	case one.cv == 0:
		one.skipped = fmt.Sprintf("no spread: %d runs settle it", stats.MinConstantRuns)
	case err != nil && min(c.Old.N, c.New.N) < stats.MinRuns:
		one.skipped = fmt.Sprintf("%d samples a side, %d needed", min(c.Old.N, c.New.N), stats.MinRuns)
	case err != nil:
		one.skipped = err.Error()
	}
	return one
}

// pairSeconds is how long a pair of processes measures, by report.Series.Process:
// the mean times of all benchmarks that such a process prints, once where one
// is printed in several units. Starting the processes is not in it.
func pairSeconds(data *report.Data) map[string]float64 {
	type printed struct{ process, name string }
	most := map[printed]float64{}
	for _, s := range data.Series {
		old, new := meanPositive(s.Old.Time), meanPositive(s.New.Time)
		pair := old + new
		if old == 0 || new == 0 {
			pair *= 2
		}
		key := printed{s.Process(), s.Name()}
		most[key] = max(most[key], pair)
	}
	sums := map[string]float64{}
	for key, seconds := range most {
		sums[key.process] += seconds
	}
	return sums
}

func meanPositive(values []float64) float64 {
	sum, n := 0.0, 0
	for _, v := range values {
		if v > 0 && !math.IsInf(v, 1) {
			sum += v
			n++
		}
	}
	return sum / float64(max(n, 1))
}

// simulate fills in the power of each prospect.
func (p *powerPlan) simulate(ctx context.Context, bar *progress) error {
	defer bar.end()
	bar.what = "simulated comparisons"
	o := simulate.Options{Replicates: p.reps, Seed: p.seed}
	total := 0
	for _, one := range p.prospects {
		if one.skipped == "" {
			total += simulate.PowerReplicates(o)
		}
	}
	began := time.Now()
	var done atomic.Int64
	o.Tick = func(replicates int) bool {
		n := done.Add(int64(replicates))
		left := time.Duration(float64(time.Since(began)) / float64(n) * float64(int64(total)-n))
		bar.show(job.Progress{Done: int(n), Total: total, Left: job.Duration(left)})
		return ctx.Err() == nil
	}
	for _, one := range p.prospects {
		if one.skipped != "" {
			continue
		}
		var err error
		if one.power, err = simulate.PowerOf(one.scenario, o); err != nil {
			return fmt.Errorf("simulate %s: %w", one.name, err)
		}
		if ctx.Err() != nil {
			return errors.New("stopped; the simulation was not complete")
		}
	}
	return nil
}

// need is what the simulated benchmarks need together.
type need struct {
	simulated int
	pairs     float64 // mean over the benchmarks
	seconds   float64 // of all processes; 0 unknown
	resolved  float64 // mean chance
}

// need sums up. Benchmarks of one process run until the last of them is
// decided.
func (p *powerPlan) need() need {
	var n need
	pairs, seconds := map[string]float64{}, map[string]float64{}
	for _, one := range p.prospects {
		if one.skipped != "" {
			continue
		}
		n.simulated++
		n.pairs += one.power.MeanRuns
		n.resolved += one.power.Resolved
		pairs[one.group] = max(pairs[one.group], one.power.MeanRuns)
		seconds[one.group] = one.seconds
	}
	for group, count := range pairs {
		n.seconds += count * seconds[group]
	}
	n.pairs /= float64(max(n.simulated, 1))
	n.resolved /= float64(max(n.simulated, 1))
	return n
}

// fixedRuns are the runs a side of a fixed comparison that show no change
// beyond the margin with 90 % power, if there is none: the rule of the
// report's runs_needed. 0 where no number of runs is reasonable.
func fixedRuns(cv, margin float64) int {
	z := (1.96 + 1.28) / margin
	n := math.Ceil(2 * cv * cv * z * z)
	if !(n <= float64(job.MaxRuns)) {
		return 0
	}
	return max(int(n), stats.MinRuns)
}
