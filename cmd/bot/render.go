package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/prbench/prbench/report"
)

// renderers write a report in each format of --format.
var renderers = map[string]func(*report.Report, io.Writer) error{
	"text": (*report.Report).Text,
	"json": (*report.Report).JSON,
	"html": (*report.Report).HTML,
	"csv":  func(r *report.Report, w io.Writer) error { return r.Data.CSV(w) },
	"markdown": func(r *report.Report, w io.Writer) error {
		_, err := io.WriteString(w, r.Markdown()+"\n")
		return err
	},
}

func formatNames() []string { return slices.Sorted(maps.Keys(renderers)) }

func renderer(format string) (func(*report.Report, io.Writer) error, error) {
	write, ok := renderers[format]
	if !ok {
		return nil, usageError("--format: want one of %s, got %q", strings.Join(formatNames(), ", "), format)
	}
	return write, nil
}

// writeFile writes to the file of --out, or to standard output.
func writeFile(path string, out io.Writer, write func(io.Writer) error) error {
	if path == "" {
		return write(out)
	}
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	if err := errors.Join(write(f), f.Close()); err != nil {
		return fmt.Errorf("write the report to %s: %w", path, err)
	}
	return nil
}

// warn writes the report's warnings beside a format that has no place for them.
func warn(r *report.Report, format string, w io.Writer) {
	if format != "text" && format != "csv" {
		return
	}
	for _, one := range r.Warnings {
		_, _ = fmt.Fprintf(w, "%s: %s\n", one.Code, one.Text)
	}
	for _, l := range r.Data.Losses {
		_, _ = fmt.Fprintf(w, "%s of %s on the %s side, %d times: %s\n", l.Kind, report.Visible(l.Case), l.Side, l.Count, report.Visible(l.Text))
		if log := report.VisibleLog(l.Log); log != "" {
			_, _ = fmt.Fprintf(w, "%s\n", lastBytes(log, 1000))
		}
	}
}
