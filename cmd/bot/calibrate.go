package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/prbench/prbench/internal/config"
	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/report"
	"github.com/prbench/prbench/runner"
	"github.com/prbench/prbench/runner/calibrate"
	"github.com/prbench/prbench/runner/measure"
	"github.com/prbench/prbench/runner/source"
)

func newCalibrate(s stream) *cobra.Command {
	var f compareFlags
	var flags config.JobFlags
	cmd := &cobra.Command{
		Use:   "calibrate --repo DIR [--ref REF] [SUITE…]",
		Short: "Measure this machine against itself, and say what it can see",
		Long: "Builds one commit twice and compares the two as `bot compare` compares two commits. Nothing differs, so that\n" +
			"what is seen is the machine's noise: the smallest change that it can detect, the stars that mean nothing, and\n" +
			"whether the two runs of a pair are alike. --out keeps it; a runner that finds it as " + runner.CalibrationFile + "\n" +
			"in its work folder tells it in each report.",
		RunE: func(cmd *cobra.Command, suites []string) error {
			return calibrateHere(cmd.Context(), f, flags, suites, s)
		},
	}
	set := cmd.Flags()
	registerJobFlags(cmd, &flags, map[string]string{
		"base": "--ref names the commit that is measured against itself", "sha": "--ref names the commit that is measured against itself",
		"pool": poolIsElsewhere, "harness": sidesAreAlike, "gate": sidesAreAlike,
	})
	set.Lookup("runs").Usage = fmt.Sprintf("runs a side (default %d); adaptive ends when nothing is left to resolve", calibrate.Runs)
	f.register(set)
	set.Lookup("out").Usage = "keep the calibration in this file, as JSON"
	set.StringVar(&f.head, "ref", "HEAD", "the commit to measure")
	set.StringVar(&f.format, "format", "text", "text or json")
	return cmd
}

func calibrateHere(ctx context.Context, f compareFlags, flags config.JobFlags, suites []string, s stream) error {
	if f.format != "text" && f.format != "json" {
		return usageError("--format: want text or json, got %q", f.format)
	}
	if f.head == source.WorkingTree {
		return usageError("--ref: want a commit; the tree as it is has none")
	}
	f.base = f.head // whose configuration counts where there is no work tree
	if flags.Runs == nil {
		runs := calibrate.Runs
		flags.Runs = &runs
	}
	spec, err := compareSpec(ctx, f, flags, suites)
	if err != nil {
		return err
	}
	box, err := f.box(ctx)
	if err != nil {
		return err
	}
	tally := calibrate.NewTally()
	bar := newProgress(s.err)
	done, err := runner.Compare(ctx, runner.LocalRequest{Repo: f.repo, Base: f.head, Head: f.head, BaseExact: true,
		Spec: spec, Sandbox: box, Logger: slog.New(slog.DiscardHandler),
		Sides:    func(_, head job.Side) { bar.say("measuring %s against itself", sideText(head)) },
		Sink:     func(r job.Run) error { tally.Add(r); return nil },
		Progress: bar.show,
		Looked:   func(l measure.Look) { bar.looked(l, spec.Margin) },
	})
	bar.end()
	var refused *source.Refused
	if errors.As(err, &refused) {
		return errors.New(refused.Text)
	}
	if err != nil {
		return err
	}
	if o := done.Outcome; o.Kind != job.Measured {
		return fmt.Errorf("calibrate: %s\n%s", report.Visible(o.Text), lastBytes(report.VisibleLog(o.Log), 4000))
	}
	r, err := tally.Judge(spec, done.Head, done.Outcome.Host, time.Now())
	if err != nil {
		return fmt.Errorf("calibrate: %w", err)
	}
	if f.out != "" {
		path, err := filepath.Abs(f.out)
		if err == nil {
			err = r.Write(path)
		}
		if err != nil {
			return err
		}
	}
	if f.format == "json" {
		e := json.NewEncoder(s.out)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		err = e.Encode(r)
	} else {
		_, err = io.WriteString(s.out, calibrationText(r))
	}
	if err != nil {
		return fmt.Errorf("write the calibration: %w", err)
	}
	return nil
}

// calibrationText is what people read: a row for each benchmark, then the
// answer.
func calibrationText(r *calibrate.Result) string {
	var b strings.Builder
	wide := len("benchmark")
	for _, one := range r.Benchmarks {
		wide = max(wide, len([]rune(calibrationName(one))))
	}
	wide = min(wide, 80)
	fmt.Fprintf(&b, "%-*s  %7s  %7s  %7s  %7s  %6s\n", wide, "benchmark", "cv", "50 %", "80 %", "90 %", "ρ")
	for _, one := range r.Benchmarks {
		name := []rune(calibrationName(one))
		name = name[:min(len(name), wide)]
		fmt.Fprintf(&b, "%s%s  ", string(name), strings.Repeat(" ", wide-len(name)))
		if one.CV == nil {
			fmt.Fprintf(&b, "%s\n", one.Why)
			continue
		}
		d := one.Detectable
		fmt.Fprintf(&b, "%7s  %7s  %7s  %7s  %6s%s\n", share(one.CV), share(d.P50), share(d.P80), share(d.P90), plainNumber(one.Correlation), calibrationHints(one))
	}
	b.WriteString("\n" + calibrationSummary(r))
	return b.String()
}

func calibrationName(b calibrate.Benchmark) string {
	name := report.Visible(b.Name)
	if b.Unit != "" {
		name += " [" + report.Visible(b.Unit) + "]"
	}
	return name
}

func calibrationHints(b calibrate.Benchmark) string {
	var hints []string
	if b.Stars != "" && b.Improvement != nil {
		hints = append(hints, fmt.Sprintf("%s by chance (%s)", b.Stars, report.Percent(*b.Improvement)))
	}
	if b.Drift != nil {
		hints = append(hints, "drifts")
	}
	if b.Autocorrelation != nil {
		hints = append(hints, fmt.Sprintf("each pair is like the one before (%.2f)", *b.Autocorrelation))
	}
	if len(hints) == 0 {
		return ""
	}
	return "  " + strings.Join(hints, "; ")
}

func share(x *float64) string {
	if x == nil {
		return "NA"
	}
	return report.Percent(*x)
}

func plainNumber(x *float64) string {
	if x == nil {
		return "NA"
	}
	return strings.Replace(fmt.Sprintf("%.2f", *x), "-0.00", "0.00", 1)
}

func calibrationSummary(r *calibrate.Result) string {
	var b strings.Builder
	s := r.Summary
	if s.Benchmarks == 0 {
		return "No benchmark has a spread that tells anything.\n"
	}
	d := s.Detectable
	fmt.Fprintf(&b, "This machine sees a change of %s with even odds, %s in 8 of 10 tries, %s in 9 of 10 (the benchmark in the middle);\nof %s, %s and %s in the noisiest.\n",
		share(d["50"].Median), share(d["80"].Median), share(d["90"].Median), share(d["50"].Worst), share(d["80"].Worst), share(d["90"].Worst))
	fmt.Fprintf(&b, "One run varies by %s (cv, in the middle), at most %s.\n", share(s.CV.Median), share(s.CV.Worst))
	most := ""
	if r.Design.Runs == job.Adaptive {
		most = "at most "
	}
	stars := s.FalseStars["*"]
	fmt.Fprintf(&b, "Stars, though nothing differs: %d of %d benchmarks, %s%.1f to be expected (*); %d, %.2f (**); %d, %.3f (***).\n",
		stars.Seen, s.Benchmarks, most, stars.Expected, s.FalseStars["**"].Seen, s.FalseStars["**"].Expected, s.FalseStars["***"].Seen, s.FalseStars["***"].Expected)
	if s.TooManyStars() {
		b.WriteString("That is more than chance explains: something on this machine changes while it measures.\n")
	}
	if s.Correlation != nil {
		fmt.Fprintf(&b, "The two runs of a pair correlate by %s", plainNumber(s.Correlation))
		switch {
		case s.Analysis == "":
			b.WriteString(".\n")
		case r.Design.Analysis == "paired":
			b.WriteString(": the paired analysis is right here.\n")
		default:
			b.WriteString(": `analysis: paired` in the suite's configuration would see smaller changes.\n")
		}
	}
	if s.Autocorrelated+s.Drifting > 0 {
		fmt.Fprintf(&b, "%d drift and %d depend on the pair before: the machine was not the same all the time.\n", s.Drifting, s.Autocorrelated)
	}
	if s.FailedProcesses > 0 {
		fmt.Fprintf(&b, "%d processes failed.\n", s.FailedProcesses)
	}
	for _, u := range r.Host.Unfit {
		fmt.Fprintf(&b, "unfit: %s\n", report.Visible(u))
	}
	for _, w := range r.Host.Warn {
		fmt.Fprintf(&b, "warning: %s\n", report.Visible(w))
	}
	return b.String()
}
