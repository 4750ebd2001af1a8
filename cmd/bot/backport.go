package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os/user"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/prbench/prbench/internal/config"
	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/report"
	"github.com/prbench/prbench/report/backport"
	"github.com/prbench/prbench/runner"
	"github.com/prbench/prbench/runner/measure"
	"github.com/prbench/prbench/runner/sandbox"
	"github.com/prbench/prbench/runner/source"
)

// backportFlags are the flags that exist on the command line only.
type backportFlags struct {
	local            localFlags
	commits, records string
	lines            []string
	main             bool
	check, samples   string
}

func newBackport(s stream) *cobra.Command {
	var f backportFlags
	var flags config.JobFlags
	cmd := &cobra.Command{
		Use:   "backport --repo DIR --commits RANGE --lines A,B [SUITE…] | --check RECORD",
		Short: "Say whether a change is safe on release lines of a local repository",
		Long: "Puts the change on the tip of each line, builds that and the line as it is, measures both, and says of each\n" +
			"line whether the change is safe there. What conflicts, is there already or does not build is told as that.\n" +
			"--commits is one commit, or a range such as main..topic; of a merge commit it is what that merged.\n" +
			"A record of each decision is kept, with its samples. --check reads one again: its verdicts are reached anew\n" +
			"from its samples, the change is put on the same commit again, and where the line has moved since, it says so.",
		RunE: func(cmd *cobra.Command, suites []string) error {
			if f.check != "" {
				if len(suites) > 0 {
					return usageError("--check takes no suites, got %q", suites[0])
				}
				if err := onlyForCheck(cmd.Flags()); err != nil {
					return err
				}
				return checkRecord(cmd.Context(), f, flags.Gate != nil && *flags.Gate, s)
			}
			if f.samples != "" {
				return usageError("--samples goes with --check; --records names the folder that new records and their samples are kept in")
			}
			return runBackport(cmd.Context(), f, flags, suites, s)
		},
	}
	set := cmd.Flags()
	registerJobFlags(cmd, &flags, map[string]string{
		"base": "the change is compared with each of --lines, and with --main on its own base too",
		"sha":  "--commits names the change",
		"pool": poolIsElsewhere,
	})
	set.Lookup("gate").Usage = "exit with 3 when the change regresses on a line, or with --check when the record does not hold for the line as it is"
	f.local.register(set)
	set.StringVar(&f.local.format, "format", "text", "text, markdown or json")
	set.StringVar(&f.commits, "commits", "", "the change: a commit, or a range A..B")
	set.StringSliceVar(&f.lines, "lines", nil, "the release lines (default: release_lines of the configuration)")
	set.BoolVar(&f.main, "main", false, "compare the change with its own base too")
	set.StringVar(&f.records, "records", "", "keep the records and their samples in this folder (default: one in the folder for temporary files)")
	set.StringVar(&f.check, "check", "", "verify the record in this file")
	set.StringVar(&f.samples, "samples", "", "the samples of the record to check (default: the file beside it)")
	return cmd
}

// onlyForCheck refuses what a record says by itself, or what --check has no use for.
func onlyForCheck(set *pflag.FlagSet) (err error) {
	set.Visit(func(f *pflag.Flag) {
		if !slices.Contains([]string{"check", "samples", "repo", "gate"}, f.Name) && err == nil {
			err = usageError("--check takes --samples, --repo and --gate, and no --%s: a record is checked as it is", f.Name)
		}
	})
	return err
}

func runBackport(ctx context.Context, f backportFlags, flags config.JobFlags, suites []string, s stream) error {
	if f.commits == "" {
		return usageError("want --commits RANGE, or --check RECORD")
	}
	write, err := matrixRenderer(f.local.format)
	if err != nil {
		return err
	}
	b, err := newLocalBackport(ctx, f, flags, suites, s.err)
	if err != nil {
		return plainRefusal(err)
	}
	// What was measured is shown, whatever ended it.
	failed := b.all(ctx, f.main)
	if failed != nil && len(b.matrix.Cells) == 0 {
		return plainRefusal(failed)
	}
	if err := writeFile(f.local.out, s.out, func(w io.Writer) error { return write(&b.matrix, w) }); err != nil {
		return err
	}
	_, _ = fmt.Fprintf(s.err, "records: %s (again: bot report FILE, bot backport --check FILE)\n", b.records)
	switch {
	case ctx.Err() != nil:
		return &exitError{exitFailed, "stopped; what was measured is above and in the records"}
	case failed != nil:
		return plainRefusal(failed)
	case b.failed != nil:
		return fmt.Errorf("this machine failed, not the code: %w", b.failed)
	case b.gate && b.matrix.Conclusion() == report.Failed:
		return &exitError{code: exitGate}
	}
	return nil
}

// all measures the change on each line and, where that is asked for, on its own base.
func (b *localBackport) all(ctx context.Context, main bool) error {
	for _, tip := range b.tips {
		if err := b.line(ctx, tip); err != nil {
			return err
		}
	}
	if !main || ctx.Err() != nil {
		return nil
	}
	err := b.ownBase(ctx)
	var refused *source.Refused
	if errors.As(err, &refused) {
		b.say("not compared with its own base: %s", refused.Text)
		return nil
	}
	return err
}

// plainRefusal gives the sentence of a refusal, without what was being done.
func plainRefusal(err error) error {
	var refused *source.Refused
	if errors.As(err, &refused) {
		return errors.New(refused.Text)
	}
	return err
}

func matrixRenderer(format string) (func(*backport.Matrix, io.Writer) error, error) {
	switch format {
	case "text":
		return (*backport.Matrix).Text, nil
	case "json":
		return (*backport.Matrix).JSON, nil
	case "markdown":
		return func(m *backport.Matrix, w io.Writer) error {
			_, err := io.WriteString(w, m.Markdown()+"\n")
			return err
		}, nil
	}
	return nil, usageError("--format: want text, markdown or json, got %q", format)
}

// localBackport is a change on its way over the lines of a local repository.
type localBackport struct {
	repo    string
	spec    job.Spec
	gate    bool // a regression is an exit code of its own
	box     *sandbox.Sandbox
	records string // the folder
	tips    []job.Side
	asked   job.Wish
	head    job.Side
	err     io.Writer
	matrix  backport.Matrix
	failed  error // the first fault of this machine
}

// newLocalBackport resolves what was asked for before anything is built, so that
// all lines are those of one moment.
func newLocalBackport(ctx context.Context, f backportFlags, flags config.JobFlags, suites []string, progress io.Writer) (*localBackport, error) {
	cfg, err := f.local.repoConfig(ctx, "HEAD")
	if err != nil {
		return nil, configError(err)
	}
	lines := f.lines
	if len(lines) == 0 {
		lines = cfg.ReleaseLines
	}
	if len(lines) == 0 {
		return nil, usageError("want --lines A,B: the configuration has no release_lines")
	}
	b := &localBackport{repo: f.local.repo, records: f.records, err: progress,
		asked: job.Wish{Sender: whoAmI(), Command: "bot backport --commits " + f.commits + " --lines " + strings.Join(lines, ","), At: time.Now()}}
	if b.spec, err = flags.Spec(cfg, suites); err != nil {
		return nil, &exitError{exitUsage, err.Error()}
	}
	b.gate, b.spec.Gate = b.spec.Gate, true // a release line has the gate's rule
	change, err := source.LocalChange(ctx, b.repo, f.commits)
	if err != nil {
		return nil, err
	}
	for i, line := range lines {
		if slices.Contains(lines[:i], line) {
			continue
		}
		tip, err := source.LocalTip(ctx, b.repo, line)
		if err != nil {
			return nil, err
		}
		b.tips = append(b.tips, tip)
	}
	if b.box, err = f.local.box(ctx); err != nil {
		return nil, err
	}
	if b.records, err = recordFolder(b.records); err != nil {
		return nil, err
	}
	b.head = job.Side{SHA: change.Picks[len(change.Picks)-1].SHA, Ref: f.commits}
	b.matrix = backport.Matrix{Head: b.head, Change: change, Spec: b.spec}
	b.say("the change is %s", report.Visible(change.Note))
	return b, nil
}

func (b *localBackport) say(format string, args ...any) {
	_, _ = fmt.Fprintf(b.err, format+"\n", args...)
}

func whoAmI() string {
	u, err := user.Current()
	if err != nil {
		return ""
	}
	return u.Username
}

// lineJob is the record of one line's part, as serve would keep it.
func (b *localBackport) lineJob(tip job.Side) job.Job {
	back := &job.Backport{Line: tip.Ref, Change: b.matrix.Change}
	for _, t := range b.tips {
		back.Lines = append(back.Lines, t.Ref)
	}
	return job.Job{State: job.Done, Spec: b.spec, Base: tip, Head: b.head, Attempt: 1, Wish: b.asked, Backport: back, Started: time.Now()}
}

// line measures the change on one line. What stands in the way of one line is a
// cell; only what would stand in the way of all is an error.
func (b *localBackport) line(ctx context.Context, tip job.Side) error {
	j := b.lineJob(tip)
	if ctx.Err() != nil {
		j.State, j.Cancel = job.Cancelled, &job.Cancel{By: b.asked.Sender}
		b.matrix.Cells = append(b.matrix.Cells, backport.CellOf(j, nil))
		return nil
	}
	b.say("%s at %.10s:", report.Visible(tip.Ref), tip.SHA)
	file, err := newRecordFile(b.records, tip.Ref)
	if err != nil {
		return err
	}
	collect := report.NewCollector()
	out, err := b.measure(ctx, tip, collect, file)
	if closeErr := file.close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	j.Outcome, j.Finished = &out, time.Now()
	if out.Kind == job.Fault && b.failed == nil {
		b.failed = errors.New(report.VisibleLog(out.Text))
	}
	opts := report.OptionsOf(&j)
	var rep *report.Report
	if out.Kind == job.Measured || out.Kind == job.Stopped && out.Runs > 0 {
		if rep, err = report.Analyse(collect.Data(), opts); err != nil {
			return err
		}
	}
	cell := backport.CellOf(j, rep)
	b.matrix.Cells = append(b.matrix.Cells, cell)
	b.say("%s", cell.Sentence())
	if !cell.Kind.Decided() {
		return file.discard()
	}
	record := backport.NewRecord(backport.Of{Job: j, Cell: cell, Options: opts, Samples: file.digest.Samples(), Version: backport.Version()})
	return file.keep(&record)
}

// measure runs one line. A refusal, such as an object that is not to be had, is
// an outcome of the line.
func (b *localBackport) measure(ctx context.Context, tip job.Side, collect *report.Collector, file *recordFile) (job.Outcome, error) {
	bar := newProgress(b.err)
	done, err := runner.Backport(ctx, runner.LocalBackport{Repo: b.repo, Change: b.matrix.Change, Line: tip, Spec: b.spec, Sandbox: b.box,
		Logger: slog.New(slog.DiscardHandler), Sides: func(_, head job.Side) {
			if head.SHA != "" {
				bar.say("the change on the line is %.10s", head.SHA)
			}
		},
		Sink: func(r job.Run) error {
			collect.AddRun(r)
			return file.write(r)
		},
		Progress: bar.show,
		Looked:   func(l measure.Look) { bar.looked(l, b.spec.Margin) },
	})
	bar.end()
	var refused *source.Refused
	switch {
	case errors.As(err, &refused):
		return job.Outcome{Kind: job.CheckoutFailed, Side: refused.Side, Text: refused.Text}, nil
	case err != nil && ctx.Err() != nil:
		return job.Outcome{Kind: job.Stopped, Text: "stopped"}, nil
	}
	return done.Outcome, err
}

// ownBase compares the change with its own base, as the pull request's ordinary
// comparison does.
func (b *localBackport) ownBase(ctx context.Context) error {
	picks := b.matrix.Change.Picks
	base := picks[0].Since
	if base == "" {
		base = picks[0].SHA + "^"
	}
	b.say("the change and its own base:")
	bar, collect, spec := newProgress(b.err), report.NewCollector(), b.spec
	spec.Gate = false
	done, err := runner.Compare(ctx, runner.LocalRequest{Repo: b.repo, Base: base, Head: b.head.SHA, BaseExact: true, Spec: spec, Sandbox: b.box,
		Logger: slog.New(slog.DiscardHandler), Progress: bar.show, Looked: func(l measure.Look) { bar.looked(l, spec.Margin) },
		Sink: func(r job.Run) error { collect.AddRun(r); return nil }})
	bar.end()
	if err != nil {
		return err
	}
	j := job.Job{Spec: spec, Base: done.Base, Head: done.Head, Attempt: 1, Outcome: &done.Outcome}
	if done.Outcome.Kind != job.Measured {
		b.say("%s", report.VisibleLog(done.Outcome.Text))
		return nil
	}
	b.matrix.Main, err = report.Analyse(collect.Data(), report.OptionsOf(&j))
	return err
}
