package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/prbench/prbench/internal/config"
	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/report"
	"github.com/prbench/prbench/runner"
	"github.com/prbench/prbench/runner/measure"
	"github.com/prbench/prbench/runner/source"
)

// compareFlags are the flags that exist on the command line only.
type compareFlags struct {
	localFlags
	base, head, samples string
	baseExact           bool
}

func newCompare(s stream) *cobra.Command {
	var f compareFlags
	var flags config.JobFlags
	cmd := &cobra.Command{
		Use:   "compare --repo DIR --base REF --head REF [SUITE…]",
		Short: "Compare two refs of a local repository, or the dirty tree, on this machine",
		Long: "Builds the merge base of --base and --head, and --head, runs the suites' benchmarks of both in\n" +
			"random-order pairs, each process in a sandbox of its own, and prints the table. The runs end at planned\n" +
			"looks, when each benchmark is resolved or more runs are futile; --runs N takes N runs a side instead.\n" +
			"--head . is the tree as it is, with what is not committed. Ctrl-C keeps what was measured.",
		RunE: func(cmd *cobra.Command, suites []string) error {
			return compare(cmd.Context(), f, flags, suites, s)
		},
	}
	set := cmd.Flags()
	registerJobFlags(cmd, &flags, map[string]string{
		"base": "", // one of its own takes any ref
		"sha":  "--head takes any commit",
		"pool": poolIsElsewhere,
	})
	f.register(set)
	set.StringVar(&f.base, "base", "", "the `ref` that the head is compared with, at their merge base")
	set.StringVar(&f.head, "head", "", "the `ref` to judge; . is the tree as it is")
	set.BoolVar(&f.baseExact, "base-exact", false, "compare with --base itself, not with the merge base")
	set.StringVar(&f.format, "format", "text", "text, markdown, json or csv")
	set.StringVar(&f.samples, "samples", "", "keep the samples in this CSV file (default: one in the folder for temporary files)")
	return cmd
}

func compare(ctx context.Context, f compareFlags, flags config.JobFlags, suites []string, s stream) error {
	if f.base == "" || f.head == "" {
		return usageError("want --base REF and --head REF (or --head . for the tree as it is)")
	}
	write, err := renderer(f.format)
	if err != nil {
		return err
	}
	spec, err := compareSpec(ctx, f, flags, suites)
	if err != nil {
		return err
	}
	box, err := f.box(ctx)
	if err != nil {
		return err
	}
	file, err := newSampleFile(f.samples)
	if err != nil {
		return err
	}
	collect := report.NewCollector()
	bar := newProgress(s.err)
	done, err := runner.Compare(ctx, runner.LocalRequest{Repo: f.repo, Base: f.base, Head: f.head, BaseExact: f.baseExact,
		Spec: spec, Sandbox: box, Logger: slog.New(slog.DiscardHandler),
		Sides: func(base, head job.Side) { bar.say("comparing %s with its base %s", sideText(head), sideText(base)) },
		Sink: func(r job.Run) error {
			collect.AddRun(r)
			return file.write(r)
		},
		Progress: bar.show,
		Looked:   func(l measure.Look) { bar.looked(l, spec.Margin) },
	})
	bar.end()
	err = errors.Join(err, file.close())
	if err != nil {
		var refused *source.Refused
		if errors.As(err, &refused) {
			return errors.New(refused.Text)
		}
		return err
	}
	c := finishedComparison{Comparison: done, spec: spec, data: collect.Data(), file: file, write: write, format: f.format, out: f.out}
	return c.tell(ctx, s)
}

func sideText(side job.Side) string {
	sha := side.SHA[:min(10, len(side.SHA))]
	if side.Ref == "" || side.Ref == side.SHA {
		return sha
	}
	return sha + " (" + report.Visible(side.Ref) + ")"
}

func compareSpec(ctx context.Context, f compareFlags, flags config.JobFlags, suites []string) (job.Spec, error) {
	cfg, err := f.repoConfig(ctx, f.base)
	if err != nil {
		return job.Spec{}, configError(err)
	}
	spec, err := flags.Spec(cfg, suites)
	if err != nil {
		return job.Spec{}, &exitError{exitUsage, err.Error()}
	}
	return spec, nil
}

// finishedComparison is what there is to tell when the runs are over.
type finishedComparison struct {
	runner.Comparison
	spec  job.Spec
	data  *report.Data
	file  *sampleFile
	write func(*report.Report, io.Writer) error
	// format and out are the flags.
	format, out string
}

func (c finishedComparison) tell(ctx context.Context, s stream) error {
	o := c.Outcome
	j := job.Job{Spec: c.spec, Base: c.Base, Head: c.Head, Attempt: 1, Outcome: &o}
	if o.Clash != nil { // there is one try alone
		return fmt.Errorf("%s; its network is its own, so that its own code most likely opens the port twice\n%s", report.VisibleLog(o.Text), report.VisibleLog(o.Log))
	}
	if o.Kind == job.Fault { // the report's words for it speak to a pull request's author
		return fmt.Errorf("this machine failed, not the code: %s", report.VisibleLog(o.Text))
	}
	if o.Kind != job.Measured && (o.Kind != job.Stopped || c.file.count == 0) {
		md := report.Failure(report.AboutOf(&j), o)
		if err := report.Terminal(s.err, md, false); err != nil {
			return err
		}
		return &exitError{code: exitFailed}
	}
	rep, err := report.Analyse(c.data, report.OptionsOf(&j))
	if err != nil {
		return err
	}
	if err := writeFile(c.out, s.out, func(w io.Writer) error { return c.write(rep, w) }); err != nil {
		return err
	}
	if c.format == "text" || c.format == "csv" {
		_, _ = fmt.Fprintln(s.err, rep.Headline())
	}
	warn(rep, c.format, s.err)
	_, _ = fmt.Fprintf(s.err, "samples: %s (again: bot report %s)\n", c.file.path, againArgs(c.spec, c.file.path))
	switch {
	case ctx.Err() != nil:
		return &exitError{exitFailed, fmt.Sprintf("stopped after %d runs; what was measured is above and in %s", c.file.count, c.file.path)}
	case c.spec.Gate && rep.Check().Conclusion == report.Failed:
		return &exitError{code: exitGate}
	}
	return nil
}

// againArgs are the arguments of `bot report` that judge the samples by the
// design that they were measured for.
func againArgs(s job.Spec, path string) string {
	var args []string
	if s.Margin != job.DefaultMargin {
		args = append(args, "--margin", strconv.FormatFloat(100*s.Margin, 'g', 10, 64)+"%")
	}
	if s.Runs == job.Adaptive {
		args = append(args, "--runs", "adaptive")
		if !slices.Equal(s.Looks, config.DefaultLooks()) {
			args = append(args, "--looks", joinInts(s.Looks))
		}
	}
	return strings.Join(append(args, path), " ")
}
