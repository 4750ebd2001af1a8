package publish

import (
	"context"
	"fmt"
	"slices"

	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/report"
)

// Report judges what a finished job measured as its comment does: with the
// attempts before it, and their ledger. It is nil where nothing was measured. It
// asks nothing of GitHub and needs no lease.
func (p *Publisher) Report(ctx context.Context, j job.Job) (*report.Report, error) {
	all, err := p.headReports(ctx, j)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(all, func(r headReport) bool { return r.job.ID == j.ID })
	if i < 0 {
		return nil, nil
	}
	return all[i].whole, nil
}

// Interim judges what a running job has measured so far, at its last completed
// look, and tells what each look found; nil where there is none. A fixed number of runs has no look before its
// end: whoever judged it on the way would see stars that are not there.
func (p *Publisher) Interim(ctx context.Context, j job.Job) (*report.Report, []report.LookFound, error) {
	opts := report.OptionsOf(&j)
	if len(opts.Looks) == 0 || j.Try == 0 {
		return nil, nil, nil
	}
	opts.About.Page = p.pageURL(j)
	if j.Attempt > 1 {
		before, err := p.headReports(ctx, j)
		if err != nil {
			return nil, nil, err
		}
		for _, r := range before {
			if r.whole != nil && r.job.ID != j.ID && pairKey(r.job) == pairKey(j) {
				opts.Earlier = append(opts.Earlier, r.whole.AsAttempt())
			}
		}
	}
	data, err := p.samples(ctx, j)
	if err != nil {
		return nil, nil, err
	}
	r, err := report.Analyse(data, opts)
	if err != nil {
		return nil, nil, fmt.Errorf("analyse job %s so far: %w", j.ID, err)
	}
	looks, err := report.Looks(data, opts)
	if err != nil {
		return nil, nil, fmt.Errorf("analyse the looks of job %s: %w", j.ID, err)
	}
	return r, looks, nil
}

// interimText is what the looks of a running job found so far; empty before the
// first.
func (p *Publisher) interimText(ctx context.Context, j job.Job) string {
	if j.Progress.Phase != job.PhaseMeasure && j.Progress.Phase != job.PhaseDeliver {
		return "" // nothing is measured yet
	}
	r, looks, err := p.Interim(ctx, j)
	if err != nil {
		// How far the job is does not wait for what it has found.
		p.Log.With(j.About()...).Warn("no interim table", "err", err)
		return ""
	}
	if r == nil || len(looks) == 0 {
		return ""
	}
	return "\n" + r.InterimMarkdown(looks)
}

// pageURL is the address of a job's page; empty: it has none.
func (p *Publisher) pageURL(j job.Job) string {
	if p.PageURL == nil {
		return ""
	}
	return p.PageURL(j)
}

// pageLink leads from a check run to the page of a job that has not ended.
func (p *Publisher) pageLink(j job.Job) string {
	url := p.pageURL(j)
	if url == "" {
		return ""
	}
	return fmt.Sprintf("\n\n[How far it is](%s)\n", url)
}
