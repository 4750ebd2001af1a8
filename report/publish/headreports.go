package publish

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/internal/queue"
	"github.com/prbench/prbench/report"
	"github.com/prbench/prbench/report/backport"
)

// headReport is the report of one finished job of a head commit.
type headReport struct {
	job      job.Job
	markdown string
	check    report.Check
	whole    *report.Report // nil: nothing was measured
	options  report.Options // with which whole was judged
	title    string         // one line of plain text
	// superseded is set when a later attempt at the same comparison has a report.
	superseded bool
}

// headReports gives the reports of all finished jobs of the job's head, oldest
// first: of ordinary jobs those of ordinary ones, of backports those of backports. What compares the same two commits is judged together, whatever else its
// command says, because it may judge the same benchmark again: each job knows the
// attempts before it, and shows the ledger of all.
func (p *Publisher) headReports(ctx context.Context, j job.Job) ([]headReport, error) {
	all, err := p.Store.List(ctx, j.Repository.ID, j.PR)
	if err != nil {
		return nil, fmt.Errorf("read the pull request's jobs: %w", err)
	}
	accepted, err := p.Store.Accepts(ctx, j.Repository.ID)
	if err != nil {
		return nil, fmt.Errorf("read what was accepted: %w", err)
	}
	var out []headReport
	attempts := map[string]*attempts{}
	for _, k := range all {
		if k.Head.SHA != j.Head.SHA || (k.Backport == nil) != (j.Backport == nil) || k.Outcome == nil || k.Try == 0 || !finished(k) {
			continue
		}
		key, pair := comparisonKey(k), pairKey(k)
		if attempts[pair] == nil {
			attempts[pair] = newAttempts()
		}
		r, err := p.headReport(ctx, k, attempts[pair], accepted)
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

// pairKey is the same for jobs that compare the same two commits.
func pairKey(j job.Job) string { return j.Base.SHA + " " + j.Head.SHA + " " + string(j.Spec.Harness) }

// comparisonKey is the same for jobs that repeat one comparison.
func comparisonKey(j job.Job) string {
	parts := []string{j.Base.SHA, j.Spec.Filter, string(j.Spec.Harness), j.Spec.Adhoc}
	for _, s := range j.Spec.Suites {
		parts = append(parts, s.Name)
	}
	return strings.Join(append(parts, j.Spec.Set...), "\x00")
}

// attempts are what the jobs of the same two commits found so far.
type attempts struct {
	earlier []report.Attempt
	jobs    []job.Job
	ledger  []report.LedgerEntry // one a job
}

// add keeps what a job found. One without a completed look judged nothing, so
// that no later attempt is held against it.
func (a *attempts) add(j job.Job, r *report.Report, page string) {
	found, headline := r.AsAttempt(), r.Headline()
	if len(found) > 0 {
		a.earlier = append(a.earlier, found)
	} else {
		headline = "not judged: " + headline
	}
	a.jobs = append(a.jobs, j)
	a.ledger = append(a.ledger, report.LedgerEntry{Attempt: j.Attempt, Finished: j.Finished, Runs: j.Spec.Runs.String(), Headline: headline, Page: page})
}

// listed is the ledger, which says what each job ran where that is not the same
// in all.
func (a *attempts) listed() []report.LedgerEntry {
	out := slices.Clone(a.ledger)
	differs := func(j job.Job) bool { return comparisonKey(j) != comparisonKey(a.jobs[0]) }
	if !slices.ContainsFunc(a.jobs, differs) {
		return out
	}
	for i, j := range a.jobs {
		out[i].Headline = ran(j) + ": " + out[i].Headline
	}
	return out
}

// ran says which benchmarks a job ran, in the words of a command.
func ran(j job.Job) string {
	var parts []string
	for _, s := range j.Spec.Suites {
		parts = append(parts, s.Name)
	}
	if j.Spec.Filter != "" {
		parts = append(parts, "--filter "+j.Spec.Filter)
	}
	for _, s := range j.Spec.Set {
		parts = append(parts, "--set "+s)
	}
	if j.Spec.Adhoc != "" {
		parts = append(parts, "with a benchmark of the comment")
	}
	r := []rune(strings.Join(parts, " "))
	if len(r) > longestRan {
		r = append(r[:longestRan], '…')
	}
	return string(r)
}

// longestRan bounds, in characters, what the ledger says of one job's command.
const longestRan = 100

func newAttempts() *attempts { return &attempts{} }

func (p *Publisher) headReport(ctx context.Context, j job.Job, a *attempts, accepted []job.Accepted) (headReport, error) {
	opts := report.OptionsOf(&j)
	opts.About.Page = p.pageURL(j)
	measured := j.Outcome.Kind == job.Measured || j.Outcome.Kind == job.Stopped && j.Outcome.Runs > 0
	if !measured {
		check := report.FailureCheck(opts.About, *j.Outcome)
		return headReport{job: j, markdown: report.Failure(opts.About, *j.Outcome), check: check, title: check.Title, options: opts}, nil
	}
	data, err := p.samples(ctx, j)
	if errors.Is(err, errForgotten) {
		return forgottenReport(j, opts), nil
	}
	if err != nil {
		return headReport{}, err
	}
	// The number is the record's, by which the runner decided when to stop.
	opts.Earlier = slices.Clone(a.earlier)
	opts.Accepted = report.InForce(accepted, firstTime(j.Finished, j.Created))
	alone, err := report.Analyse(data, opts)
	if err != nil {
		return headReport{}, fmt.Errorf("analyse job %s: %w", j.ID, err)
	}
	a.add(j, alone, opts.About.Page)
	if len(a.ledger) > 1 {
		alone.About.Ledger = a.listed()
	}
	check := alone.Check()
	return headReport{job: j, markdown: alone.Markdown(), check: check, title: check.Title, whole: alone, options: opts}, nil
}

// errForgotten: a job was published, and its samples are not kept any more.
var errForgotten = errors.New("the samples are not kept any more")

// forgotten tells whether a job shows a report that cannot be composed again. It
// stays as it is.
func (p *Publisher) forgotten(ctx context.Context, j job.Job) (bool, error) {
	if !j.State.Ended() || j.Published.Summary == nil || j.Outcome == nil || j.Outcome.Runs == 0 || j.Outcome.Kind != job.Measured {
		return false, nil
	}
	for _, err := range p.Store.Runs(ctx, j.Runner, j.ID, j.Try) {
		return false, err
	}
	if j.Backport == nil {
		return true, nil
	}
	has, err := p.Store.HasRecord(ctx, j.ID)
	return !has, err
}

// forgottenReport is what is said of such a job beside the reports of others.
func forgottenReport(j job.Job, opts report.Options) headReport {
	said := report.Plain(report.Short(j.Published.Summary.Headline, longestSaid))
	text := "What was measured is not kept any more. Its report said: " + said + "."
	return headReport{job: j, markdown: text, check: report.Check{Title: "Not kept any more", Summary: text, Conclusion: report.Neutral},
		title: j.Published.Summary.Headline, options: opts}
}

// longestSaid bounds, in columns, what is told of a report that is not kept.
const longestSaid = 300

// samples reads what the job's last try measured. Records of another runner, or
// of another try, are under other subjects and are never seen. Of a backport whose
// samples are too old to be in the stream, those of its record are read.
func (p *Publisher) samples(ctx context.Context, j job.Job) (*report.Data, error) {
	c := report.NewCollector()
	n, err := collect(c, p.Store.Runs(ctx, j.Runner, j.ID, j.Try))
	if err == nil && n == 0 && j.Backport != nil && j.Outcome != nil && j.Outcome.Runs > 0 {
		var in io.ReadCloser
		if in, err = p.Store.RecordSamples(ctx, j.ID); err == nil {
			n, err = collect(c, backport.ReadSamples(in, "samples", nil))
			err = errors.Join(err, in.Close())
		} else if errors.Is(err, queue.ErrNotFound) {
			err = nil
		}
	}
	if err == nil && n == 0 && j.Outcome != nil && j.Outcome.Runs > 0 && j.Published.Summary != nil {
		err = errForgotten
	}
	if err != nil {
		return nil, fmt.Errorf("read the samples of job %s: %w", j.ID, err)
	}
	return c.Data(), nil
}

// collect adds runs and counts them.
func collect(c *report.Collector, runs iter.Seq2[job.Run, error]) (n int, err error) {
	for run, err := range runs {
		if err != nil {
			return n, err
		}
		c.AddRun(run)
		n++
	}
	return n, nil
}
