package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/report"
	"github.com/prbench/prbench/report/stats"
)

// text writes what people read: one benchmark at length, several as a table.
func (p *powerPlan) text(w io.Writer) error {
	var b strings.Builder
	if p.from {
		p.table(&b)
	} else {
		p.single(&b)
	}
	_, err := io.WriteString(w, b.String())
	if err != nil {
		return fmt.Errorf("write the power: %w", err)
	}
	return nil
}

// plan says how the comparison is made.
func (p *powerPlan) plan() string {
	if p.design.Adaptive() {
		return fmt.Sprintf("adaptive (looks after %s pairs)", joinInts(p.design.Looks))
	}
	return fmt.Sprintf("%d runs a side", p.design.Runs)
}

func (p *powerPlan) single(b *strings.Builder) {
	one := p.prospects[0]
	w := one.power
	m := report.Percent(p.design.Margin)
	fmt.Fprintf(b, "One run varies by %s (cv); %s; margin %s.\n\n", report.Percent(one.cv), p.plan(), m)
	if p.design.Adaptive() {
		fmt.Fprintf(b, "pairs of runs      %.1f on average, at most %d\n", w.MeanRuns, p.design.MaxRuns())
		fmt.Fprintf(b, "resolved           %s; given up as futile %s\n", chance(w.Resolved), chance(w.Futile))
	} else {
		fmt.Fprintf(b, "runs               %d a side\n", p.design.Runs)
	}
	d := w.Detectable
	fmt.Fprintf(b, "detectable change  %s (50 %% power), %s (80 %%), %s (90 %%)\n\n", report.Percent(d[0]), report.Percent(d[1]), report.Percent(d[2]))
	fmt.Fprintf(b, "If the true improvement is %s, the verdict is\n", report.Percent(p.effect))
	for _, v := range append(stats.Verdicts(), stats.NoVerdict) {
		if v == stats.NotComparable && w.Verdicts[v] == 0 || v == stats.NoVerdict && w.Verdicts[v] == 0 {
			continue
		}
		fmt.Fprintf(b, "  %-26s %8s\n", report.VerdictWords(v, stats.MarginUnknown, "", p.design.Margin), chance(w.Verdicts[v]))
	}
	fmt.Fprintf(b, "\n%s\n", p.advice(one.cv))
	fmt.Fprintf(b, "Simulated: %d comparisons, seed %d; standard error of a chance at most %s.\n", w.Replicates, p.seed, report.Percent(w.Error))
}

// advice says what settles a benchmark of that noise.
func (p *powerPlan) advice(cv float64) string {
	m := report.Percent(p.design.Margin)
	n := fixedRuns(cv, p.design.Margin)
	if n == 0 {
		return fmt.Sprintf("No reasonable number of runs shows the absence of a change beyond %s at this noise: a wider margin or a quieter benchmark does.", m)
	}
	return fmt.Sprintf("To show that there is no change beyond %s, if there is none, a fixed comparison needs about %d runs a side (90 %% power).", m, n)
}

// table is a row for each benchmark, and a sentence for all.
func (p *powerPlan) table(b *strings.Builder) {
	wide := len("benchmark")
	for _, one := range p.prospects {
		wide = max(wide, len([]rune(one.label())))
	}
	fmt.Fprintf(b, "%s; margin %s; true improvement %s\n\n", p.plan(), report.Percent(p.design.Margin), report.Percent(p.effect))
	fmt.Fprintf(b, "%-*s  %8s  %6s  %9s  %10s  %10s\n", wide, "benchmark", "cv", p.unit(), "resolved", "detectable", "fixed runs")
	for _, one := range p.prospects {
		pad := strings.Repeat(" ", wide-len([]rune(one.label())))
		if one.skipped != "" {
			fmt.Fprintf(b, "%s%s  %8s  %s\n", one.label(), pad, report.Percent(one.cv), one.skipped)
			continue
		}
		fixed := "none"
		if n := fixedRuns(one.cv, p.design.Margin); n > 0 {
			fixed = fmt.Sprint(n)
		}
		fmt.Fprintf(b, "%s%s  %8s  %6.1f  %9s  %10s  %10s\n", one.label(), pad, report.Percent(one.cv), one.power.MeanRuns,
			chance(one.power.Resolved), report.Percent(one.power.Detectable[1]), fixed)
	}
	fmt.Fprintf(b, "\n%s\n", p.sentence())
	b.WriteString("resolved: the chance of a verdict that needs no further run. detectable: with 80 % power. fixed runs: runs a side that show no change\n" +
		"beyond the margin, if there is none, with 90 % power.\n")
	fmt.Fprintf(b, "Simulated: %d comparisons of each, seed %d.\n", p.reps, p.seed)
}

func (p *powerPlan) unit() string {
	if p.design.Adaptive() {
		return "pairs"
	}
	return "runs"
}

// sentence is the answer in one line.
func (p *powerPlan) sentence() string {
	n := p.need()
	if n.simulated == 0 {
		return "There is no noise to simulate."
	}
	takes := ""
	if n.seconds > 0 {
		takes = ", " + minutes(n.seconds) + " of measuring"
	}
	who, resolved := "the benchmark", "it is resolved then with a chance of "+chance(n.resolved)
	if n.simulated > 1 {
		who, resolved = fmt.Sprintf("the %d benchmarks", n.simulated), chance(n.resolved)+" of them are resolved then"
	}
	m := report.Percent(p.design.Margin)
	if !p.design.Adaptive() {
		return fmt.Sprintf("%s in %d runs a side%s: %s, at a margin of %s.", capitalised(who), p.design.Runs, takes, resolved, m)
	}
	if n.resolved < likely {
		return fmt.Sprintf("At this noise an adaptive comparison gives up after about %.0f pairs on average (at most %d)%s; %s, at a margin of %s. "+
			"The fixed runs above are what it would take.", math.Ceil(n.pairs), p.design.MaxRuns(), takes, resolved, m)
	}
	need := "needs"
	if n.simulated > 1 {
		need = "need"
	}
	return fmt.Sprintf("To resolve %s at this noise, %s %s %.0f pairs on average (at most %d)%s; %s.",
		m, who, need, math.Ceil(n.pairs), p.design.MaxRuns(), takes, resolved)
}

// likely is the chance of a verdict from which on a number of pairs can be called
// what it takes.
const likely = .8

func capitalised(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

func (one *prospect) label() string {
	if one.unit == "" || one.unit == "ops/s" {
		return one.name
	}
	return one.name + " [" + report.Visible(one.unit) + "]"
}

// chance writes a probability.
func chance(p float64) string {
	if p > 0 && p < 0.0005 {
		return "<0.1 %"
	}
	return fmt.Sprintf("%.1f %%", 100*p)
}

// minutes writes a time as people plan with it.
func minutes(seconds float64) string {
	switch d := time.Duration(seconds * float64(time.Second)); {
	case d < time.Minute:
		return "about " + report.Plural(max(1, int(math.Round(d.Seconds()))), "second", "seconds")
	case d < 2*time.Hour:
		return "about " + report.Plural(int(math.Round(d.Minutes())), "minute", "minutes")
	default:
		return fmt.Sprintf("about %.1f hours", d.Hours())
	}
}

// The JSON of the power, with fractions as fractions and null for what does
// not exist.
type powerJSON struct {
	Schema     int              `json:"schema"`
	Design     powerDesign      `json:"design"`
	Effect     float64          `json:"effect"`
	Replicates int              `json:"replicates"`
	Seed       uint64           `json:"seed"`
	Benchmarks []powerBenchmark `json:"benchmarks"`
	Summary    powerSummary     `json:"summary"`
	Warnings   []string         `json:"warnings"`
}

type powerDesign struct {
	Margin   float64        `json:"margin"`
	Alpha    float64        `json:"alpha"`
	Analysis stats.Analysis `json:"analysis"`
	Runs     job.Runs       `json:"runs"`
	Looks    []int          `json:"looks"`
}

type powerBenchmark struct {
	Name     *string            `json:"name"`
	Unit     string             `json:"unit"`
	CV       *float64           `json:"cv"`
	Skipped  string             `json:"skipped,omitempty"`
	Verdicts map[string]float64 `json:"verdicts"`
	Stars    map[string]float64 `json:"stars"`
	Resolved *float64           `json:"resolved"`
	Futile   *float64           `json:"futile"`
	MeanRuns *float64           `json:"mean_runs"`
	// Detectable is by power in percent.
	Detectable  map[string]*float64 `json:"detectable"`
	RunsNeeded  *int                `json:"runs_needed"`
	PairSeconds *float64            `json:"pair_seconds"`
	Error       *float64            `json:"error"`
}

type powerSummary struct {
	Simulated int      `json:"simulated"`
	MeanRuns  *float64 `json:"mean_runs"`
	Seconds   *float64 `json:"seconds"`
	Text      string   `json:"text"`
}

func (p *powerPlan) json(w io.Writer) error {
	out := powerJSON{Schema: 1, Effect: p.effect, Replicates: p.reps, Seed: p.seed, Benchmarks: []powerBenchmark{},
		Design: powerDesign{Margin: p.design.Margin, Alpha: p.design.Alpha, Analysis: p.design.Analysis,
			Runs: job.Runs(p.design.Runs), Looks: append([]int{}, p.design.Looks...)},
		Warnings: append([]string{}, p.warnings...)}
	for _, one := range p.prospects {
		out.Benchmarks = append(out.Benchmarks, one.json(p))
	}
	n := p.need()
	out.Summary = powerSummary{Simulated: n.simulated, Text: p.sentence()}
	if n.simulated > 0 {
		out.Summary.MeanRuns, out.Summary.Seconds = number(n.pairs), known(n.seconds)
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(out); err != nil {
		return fmt.Errorf("write the power: %w", err)
	}
	return nil
}

func (one *prospect) json(p *powerPlan) powerBenchmark {
	b := powerBenchmark{Unit: one.unit, CV: number(one.cv), Skipped: one.skipped, PairSeconds: known(one.seconds)}
	if p.from {
		b.Name = &one.name
	}
	if one.skipped != "" {
		return b
	}
	w := one.power
	b.Verdicts = map[string]float64{"none": w.Verdicts[stats.NoVerdict]}
	for _, v := range stats.Verdicts() {
		b.Verdicts[string(v)] = w.Verdicts[v]
	}
	b.Stars = map[string]float64{"*": w.Stars[0], "**": w.Stars[1], "***": w.Stars[2]}
	b.Detectable = map[string]*float64{"50": number(w.Detectable[0]), "80": number(w.Detectable[1]), "90": number(w.Detectable[2])}
	b.Resolved, b.Futile, b.MeanRuns, b.Error = number(w.Resolved), number(w.Futile), number(w.MeanRuns), number(w.Error)
	if n := fixedRuns(one.cv, p.design.Margin); n > 0 {
		b.RunsNeeded = &n
	}
	return b
}

// number is a value of JSON, nil where it does not exist.
func number(x float64) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return &x
}

// known is number, nil also for 0.
func known(x float64) *float64 {
	if x == 0 {
		return nil
	}
	return number(x)
}
