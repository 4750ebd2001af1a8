package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/report"
	"github.com/prbench/prbench/report/backport"
	"github.com/prbench/prbench/runner/source"
)

// checkRecord verifies a record against its samples and a repository. It fails
// where the record is not what comes out of them; a line that has moved since is
// told, and makes it fail with gate alone.
func checkRecord(ctx context.Context, f backportFlags, gate bool, s stream) error {
	r, err := readRecord(f.check, s.in)
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintf(s.out, "record:     %s\n", report.Visible(r.Words))
	differences, err := verifySamples(r, f)
	if err != nil {
		return err
	}
	switch {
	case len(differences) > 0:
	case r.Samples == nil:
		_, _ = fmt.Fprintln(s.out, "samples:    none, as nothing was measured")
	default:
		_, _ = fmt.Fprintf(s.out, "samples:    %s, as recorded; every verdict comes out the same\n", report.Plural(r.Samples.Runs, "run", "runs"))
	}
	for _, d := range differences {
		_, _ = fmt.Fprintf(s.out, "samples:    %s\n", report.Visible(d))
	}
	now, err := repeat(ctx, f.local.repo, r)
	if err != nil {
		return fmt.Errorf("check the record against the repository %s: %w", f.local.repo, plainRefusal(err))
	}
	standing := r.Standing(now)
	_, _ = fmt.Fprintf(s.out, "repository: %s\n", report.Visible(standing.Words))
	switch {
	case len(differences) > 0 || !standing.Reproduced:
		return &exitError{exitFailed, "the record does not hold"}
	case gate && (standing.Moved || r.Verdict != backport.Safe && r.Verdict != backport.Contained):
		return &exitError{code: exitGate}
	}
	return nil
}

func verifySamples(r *backport.Record, f backportFlags) ([]string, error) {
	if r.Samples == nil {
		return r.Verify(nil, "")
	}
	path := f.samples
	if path == "" {
		path = samplesOf(f.check)
	}
	in, err := os.Open(path)
	if err != nil {
		return nil, &exitError{exitUsage, fmt.Sprintf("want the samples of the record, which --samples FILE names: %v", err)}
	}
	differences, err := r.Verify(in, path)
	return differences, errors.Join(err, in.Close())
}

// repeat puts the record's change on its tip again, and looks where the line is.
func repeat(ctx context.Context, repo string, r *backport.Record) (now backport.Repeated, err error) {
	if now.Picked, err = source.Repick(ctx, repo, r.Change, job.Side{SHA: r.Tip, Ref: r.Line}); err != nil {
		return now, err
	}
	tip, err := source.LocalTip(ctx, repo, r.Line)
	var refused *source.Refused
	switch {
	case errors.As(err, &refused):
		return now, nil // the line is gone
	case err != nil:
		return now, err
	}
	now.Tip = tip.SHA
	now.Ahead, err = source.Ahead(ctx, repo, r.Tip, now.Tip)
	return now, err
}

// printRecord prints a record as bot report prints a comparison.
func printRecord(r *backport.Record, format string, w io.Writer) error {
	switch format {
	case "text":
		return r.Text(w)
	case "json":
		return r.Write(w)
	case "markdown":
		_, err := io.WriteString(w, r.Markdown()+"\n")
		return err
	}
	return usageError("--format: a record of a backport is printed as text, markdown or json, not as %s", format)
}
