package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/prbench/prbench/internal/benchfmt"
	"github.com/prbench/prbench/internal/config"
	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/report"
	"github.com/prbench/prbench/report/stats"
)

// reportFlags are the flags of bot report.
type reportFlags struct {
	format, input, out string
	margin             string
	runs               string
	looks              []int
	unit, better       string
	independent, gate  bool
}

func newReport(s stream) *cobra.Command {
	var f reportFlags
	cmd := &cobra.Command{
		Use:   "report FILE | - | OLD NEW",
		Short: "Judge samples that are there: a confidence table and a plain verdict",
		Long: "Reads a file of samples that name their side (Node's compare.js CSV, or `bot compare --samples`), or one\n" +
			"file of each side (Go, Google Benchmark, hyperfine, JMH, pytest-benchmark, criterion), or a table that\n" +
			"compare.R printed, and prints the report. `bot report results.csv` prints what compare.R prints.",
		RunE: func(cmd *cobra.Command, files []string) error {
			return printReport(f, files, s)
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&f.format, "format", "text", strings.Join(formatNames(), ", "))
	fs.StringVar(&f.input, "input-format", "auto", "auto, table, "+strings.Join(inputFormats(), ", "))
	fs.StringVar(&f.out, "out", "", "write the report to a file")
	fs.StringVar(&f.margin, "margin", "2%", "the change that matters, above 0% and at most 50%")
	fs.StringVar(&f.runs, "runs", "", "runs a side, for a printed table that does not tell them; or adaptive, for samples of adaptive runs")
	fs.IntSliceVar(&f.looks, "looks", nil, "the looks that adaptive runs were planned with (default "+joinInts(config.DefaultLooks())+")")
	fs.StringVar(&f.unit, "unit", "", "the unit of the values, where the format prints none")
	fs.StringVar(&f.better, "better", "", "higher or lower, where the unit does not tell")
	fs.BoolVar(&f.independent, "independent", false, "each value came from a process of its own, whatever the format suggests")
	fs.BoolVar(&f.gate, "gate", false, "exit with 3 when the benchmarks together regress")
	return cmd
}

func inputFormats() []string {
	var names []string
	for _, f := range job.Formats() {
		names = append(names, string(f))
	}
	return names
}

func printReport(f reportFlags, files []string, s stream) error {
	write, err := renderer(f.format)
	if err != nil {
		return err
	}
	opts, err := f.options()
	if err != nil {
		return err
	}
	if len(files) < 1 || len(files) > 2 {
		return usageError("want a file of samples, - for standard input, or OLD NEW; got %d files", len(files))
	}
	// A report reads, judges and ends: memory for time, 123 MiB at most for a
	// million samples.
	debug.SetGCPercent(300)
	if len(files) == 1 && f.input == "auto" {
		in, record, err := openRecord(files[0], s.in)
		if err != nil {
			return err
		}
		if record != nil {
			return writeFile(f.out, s.out, func(w io.Writer) error { return printRecord(record, f.format, w) })
		}
		s.in = in
	}
	rep, err := f.read(files, opts, s.in)
	if err != nil {
		return err
	}
	if err := writeFile(f.out, s.out, func(w io.Writer) error { return write(rep, w) }); err != nil {
		return err
	}
	warn(rep, f.format, s.err)
	if f.gate && rep.Check().Conclusion == report.Failed {
		return &exitError{code: exitGate}
	}
	return nil
}

func (f reportFlags) options() (report.Options, error) {
	o := report.Options{Independent: f.independent, Gate: f.gate}
	var err error
	if o.Margin, err = job.ParseMargin(f.margin); err != nil {
		return o, usageError("--%v", err)
	}
	if f.runs != "" {
		if o.Runs, err = job.ParseRuns(f.runs); err != nil {
			return o, usageError("--%v", err)
		}
	}
	if o.Looks, err = planned(f.runs == job.Adaptive.String(), f.looks); err != nil {
		return o, err
	}
	if b := job.Better(f.better); b != "" && b != job.Higher && b != job.Lower {
		return o, usageError("--better: want higher or lower, got %q", f.better)
	}
	if f.input != "auto" && f.input != string(benchfmt.FormatTable) && !slices.Contains(inputFormats(), f.input) {
		return o, usageError("--input-format: want auto, table or one of %s, got %q", strings.Join(inputFormats(), ", "), f.input)
	}
	return o, nil
}

// planned gives the looks of adaptive runs, none of others.
func planned(adaptive bool, looks []int) ([]int, error) {
	switch {
	case !adaptive && len(looks) > 0:
		return nil, usageError("--looks: want it with --runs adaptive")
	case !adaptive:
		return nil, nil
	case len(looks) == 0:
		return config.DefaultLooks(), nil
	}
	if err := stats.ValidateLooks(looks); err != nil {
		return nil, usageError("--looks: %v", err)
	}
	return looks, nil
}

func joinInts(list []int) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(list), " ", ","), "[]")
}

// read collects one file that names its sides, or one file of each side.
func (f reportFlags) read(files []string, o report.Options, stdin io.Reader) (*report.Report, error) {
	c := report.NewCollector()
	sides := []job.SideName{""}
	if len(files) == 2 {
		sides = []job.SideName{job.Old, job.New}
	}
	for i, name := range files {
		in, err := open(name, stdin)
		if err != nil {
			return nil, err
		}
		format, r, err := f.detect(in, name)
		if err == nil && format == benchfmt.FormatTable {
			var rep *report.Report
			switch {
			case len(files) == 2:
				err = usageError("%s is a printed table, which holds both sides: want it alone", name)
			case len(o.Looks) > 0:
				err = usageError("%s is a printed table, which is of a fixed number of runs: want --runs N", name)
			default:
				rep, err = readTable(r, name, o)
			}
			return rep, errors.Join(err, in.Close())
		}
		if err == nil {
			err = f.collect(c, r, name, format, sides[i])
		}
		if err = errors.Join(err, in.Close()); err != nil {
			return nil, err
		}
	}
	return report.Analyse(c.Data(), o)
}

func open(name string, stdin io.Reader) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(stdin), nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, &exitError{exitUsage, err.Error()}
	}
	return f, nil
}

func (f reportFlags) detect(in io.Reader, name string) (job.Format, io.Reader, error) {
	if f.input != "auto" {
		return job.Format(f.input), in, nil
	}
	format, r, err := benchfmt.Detect(in, name)
	if err != nil {
		return "", nil, fmt.Errorf("%w; --input-format names it", err)
	}
	return format, r, nil
}

func (f reportFlags) collect(c *report.Collector, r io.Reader, name string, format job.Format, side job.SideName) error {
	in := benchfmt.NewReader(r, name, benchfmt.Options{Format: format, Side: side, Unit: f.unit, Better: job.Better(f.better)})
	n := 0
	for in.Scan() {
		if in.Record().Side == "" {
			return usageError("%s: the samples do not say which side they belong to: want OLD NEW, one file of each side", name)
		}
		c.AddRecord(in.Record())
		n++
	}
	if err := in.Err(); err != nil {
		return err
	}
	c.EndFile(in.Properties(), in.Problems())
	if n == 0 {
		return fmt.Errorf("%s: no benchmark result found in %s format", name, format)
	}
	return nil
}

func readTable(r io.Reader, name string, o report.Options) (*report.Report, error) {
	t := benchfmt.NewTableReader(r, name)
	var rows []benchfmt.TableRow
	for t.Scan() {
		rows = append(rows, *t.Row())
	}
	if err := t.Err(); err != nil {
		return nil, err
	}
	return report.Printed(rows, t.Problems(), o)
}
