package publish

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/internal/queue"
	"github.com/prbench/prbench/report"
	"github.com/prbench/prbench/report/backport"
)

// lineResult is what the job of one line ended with.
type lineResult struct {
	job     job.Job
	cell    backport.Cell
	options report.Options
}

// lineResults are those of all finished lines of a backport's head, oldest first.
// What puts the change on the same tip is judged together, as attempts.
func (p *Publisher) lineResults(ctx context.Context, j job.Job) ([]lineResult, error) {
	reports, err := p.headReports(ctx, j)
	if err != nil {
		return nil, err
	}
	var out []lineResult
	for _, r := range reports {
		c := backport.CellOf(r.job, r.whole)
		c.Page = p.pageURL(r.job)
		out = append(out, lineResult{r.job, c, r.options})
	}
	return out, nil
}

// summary is what is told of the line elsewhere.
func (r lineResult) summary() *job.Summary {
	s := summaryOf(r.cell.Report)
	if s == nil {
		s = &job.Summary{}
	}
	s.Headline = r.cell.Sentence()
	return s
}

// cellFor is the cell of a job: its result, or where it stands.
func cellFor(j job.Job, results []lineResult) backport.Cell {
	for _, r := range results {
		if r.job.ID == j.ID {
			return r.cell
		}
	}
	return backport.CellOf(j, nil)
}

// composeMatrix has all lines that were asked for on the job's head. Of a line it
// shows the present tip, with the last job that decided something there, and below
// it what was decided on earlier tips, as outdated.
func composeMatrix(all []job.Job, j job.Job, results []lineResult) backport.Matrix {
	var jobs []job.Job
	var lines []string
	for _, k := range all {
		if k.Backport == nil || k.Head.SHA != j.Head.SHA {
			continue
		}
		jobs = append(jobs, k)
		for _, l := range append(slices.Clone(k.Backport.Lines), k.Backport.Line) {
			if !slices.Contains(lines, l) {
				lines = append(lines, l)
			}
		}
	}
	m := newMatrix(jobs[len(jobs)-1])
	for _, line := range lines {
		m.Cells = append(m.Cells, lineCells(jobs, line, results)...)
	}
	return m
}

// lineCells are the cells of one line, the present tip first. What ran other
// benchmarks on the same tip has a cell of its own, which says what it ran: a later
// command for some of them hides nothing that was found of the others.
func lineCells(jobs []job.Job, line string, results []lineResult) []backport.Cell {
	var tips []string // newest first
	byTip := map[string][]*comparison{}
	for _, k := range slices.Backward(jobs) {
		if k.Backport.Line != line {
			continue
		}
		c := cellFor(k, results)
		if c.Kind == backport.Running {
			c.Kind = backport.Waiting // the comment is not written anew when a line begins
		}
		tip, key := k.Base.SHA, comparisonKey(k)
		if !slices.Contains(tips, tip) {
			tips = append(tips, tip)
		}
		i := slices.IndexFunc(byTip[tip], func(o *comparison) bool { return o.key == key })
		switch {
		case i < 0:
			byTip[tip] = append(byTip[tip], &comparison{key, ran(k), c})
		case c.Kind.Decided() && !byTip[tip][i].cell.Kind.Decided():
			byTip[tip][i].cell = c
		}
	}
	var out []backport.Cell
	for i, tip := range tips {
		out = append(out, tipCells(byTip[tip], i > 0)...)
	}
	return out
}

// comparison is one of those that were made on a line's tip.
type comparison struct {
	key, ran string
	cell     backport.Cell
}

// tipCells are the cells of one tip. What ended without a decision is shown where
// there is nothing else, and never of an earlier tip.
func tipCells(all []*comparison, outdated bool) []backport.Cell {
	newest := all[:1]
	all = slices.DeleteFunc(slices.Clone(all), func(c *comparison) bool {
		return !c.cell.Kind.Decided() && (outdated || c.cell.Kind.Ended())
	})
	if len(all) == 0 && !outdated {
		all = newest
	}
	var out []backport.Cell
	for _, c := range all {
		c.cell.Outdated = outdated
		if len(all) > 1 {
			c.cell.Ran = c.ran
		}
		out = append(out, c.cell)
	}
	return out
}

// keepRecord keeps the record of a line's decision with its samples, once. Where
// the store has no room for it the result is published without.
func (p *Publisher) keepRecord(ctx context.Context, r lineResult) error {
	if !r.cell.Kind.Decided() {
		return nil
	}
	has, err := p.Store.HasRecord(ctx, r.job.ID)
	if err != nil || has {
		return err
	}
	of := backport.Of{Job: r.job, Cell: r.cell, Options: r.options, Version: backport.Version()}
	var samples io.Reader
	if r.cell.Report != nil {
		if of.Samples, err = backport.WriteSamples(io.Discard, p.Store.Runs(ctx, r.job.Runner, r.job.ID, r.job.Try)); err != nil {
			return fmt.Errorf("digest the samples of job %s: %w", r.job.ID, err)
		}
		if of.Samples.Kept = of.Samples.Bytes <= queue.MaxRecordSamples; of.Samples.Kept {
			in, out := io.Pipe()
			defer in.Close()
			go func() {
				_, err := backport.WriteSamples(out, p.Store.Runs(ctx, r.job.Runner, r.job.ID, r.job.Try))
				out.CloseWithError(err)
			}()
			samples = in
		}
	}
	var text bytes.Buffer
	record := backport.NewRecord(of)
	if err := record.Write(&text); err != nil {
		return fmt.Errorf("job %s: %w", r.job.ID, err)
	}
	err = p.Store.PutRecord(ctx, r.job.ID, text.Bytes(), samples)
	if errors.Is(err, queue.ErrFull) || errors.Is(err, queue.ErrTooLarge) {
		p.Log.Error("a backport's record is not kept", "job", string(r.job.ID), "err", err)
		return nil
	}
	return err
}
