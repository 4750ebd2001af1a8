package publish

import (
	"context"
	"fmt"
	"strings"

	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/report"
)

// headReport is the report of one finished job of a head commit.
type headReport struct {
	job      job.Job
	markdown string
	check    report.Check
	title    string // one line of plain text
	// superseded is set when a later attempt at the same comparison has a report.
	superseded bool
}

// headReports gives the reports of all finished jobs of the job's head, oldest
// first. Repeats of one comparison are judged together: each knows the attempts
// before it, and shows the ledger of all.
func (p *Publisher) headReports(ctx context.Context, j job.Job) ([]headReport, error) {
	all, err := p.Store.List(ctx, j.Repository.ID, j.PR)
	if err != nil {
		return nil, fmt.Errorf("read the pull request's jobs: %w", err)
	}
	var out []headReport
	attempts := map[string]*attempts{}
	for _, k := range all {
		if k.Head.SHA != j.Head.SHA || k.Outcome == nil || k.Try == 0 || !finished(k) {
			continue
		}
		key := comparisonKey(k)
		if attempts[key] == nil {
			attempts[key] = newAttempts()
		}
		r, err := p.headReport(ctx, k, attempts[key])
		if err != nil {
			return nil, err
		}
		for i := range out {
			if comparisonKey(out[i].job) == key {
				out[i].superseded = true
			}
		}
		out = append(out, r)
	}
	return out, nil
}

// comparisonKey is the same for jobs that repeat one comparison.
func comparisonKey(j job.Job) string {
	parts := []string{j.Base.SHA, j.Spec.Filter, string(j.Spec.Harness), j.Spec.Adhoc}
	for _, s := range j.Spec.Suites {
		parts = append(parts, s.Name)
	}
	return strings.Join(append(parts, j.Spec.Set...), "\x00")
}

// attempts are what the repeats of one comparison found so far.
type attempts struct {
	earlier []report.Attempt
	ledger  []report.LedgerEntry
}

func newAttempts() *attempts { return &attempts{} }

func (p *Publisher) headReport(ctx context.Context, j job.Job, a *attempts) (headReport, error) {
	opts := report.OptionsOf(&j)
	measured := j.Outcome.Kind == job.Measured || j.Outcome.Kind == job.Stopped && j.Outcome.Runs > 0
	if !measured {
		check := report.FailureCheck(opts.About, *j.Outcome)
		return headReport{job: j, markdown: report.Failure(opts.About, *j.Outcome), check: check, title: check.Title}, nil
	}
	data, err := p.samples(ctx, j)
	if err != nil {
		return headReport{}, err
	}
	opts.Attempt = len(a.earlier) + 1
	opts.Earlier = a.earlier
	opts.About.Attempt = opts.Attempt
	alone, err := report.Analyse(data, opts)
	if err != nil {
		return headReport{}, fmt.Errorf("analyse job %s: %w", j.ID, err)
	}
	a.ledger = append(a.ledger, report.LedgerEntry{Attempt: opts.Attempt, Finished: j.Finished, Runs: j.Spec.Runs.String(), Headline: alone.Headline()})
	a.earlier = append(a.earlier, alone.AsAttempt())
	if len(a.ledger) > 1 {
		alone.About.Ledger = a.ledger
	}
	check := alone.Check()
	return headReport{job: j, markdown: alone.Markdown(), check: check, title: check.Title}, nil
}

// samples reads what the job's last try measured. Records of another runner, or
// of another try, are under other subjects and are never seen.
func (p *Publisher) samples(ctx context.Context, j job.Job) (*report.Data, error) {
	c := report.NewCollector()
	for run, err := range p.Store.Runs(ctx, j.Runner, j.ID, j.Try) {
		if err != nil {
			return nil, fmt.Errorf("read the samples of job %s: %w", j.ID, err)
		}
		c.AddRun(run)
	}
	return c.Data(), nil
}
