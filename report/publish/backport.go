package publish

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prbench/prbench/internal/forge"
	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/report"
	"github.com/prbench/prbench/report/backport"
)

// A backport is as many jobs as it has lines. They share one comment, which has
// all lines that were asked for on their head, and one check run a command.

// backportName is how the check run of a backport, or its status, is called.
const backportName = "prbench backport"

// backport makes GitHub show what a line's record says, beside those of the other
// lines.
func (p *Publisher) backport(ctx context.Context, hub Hub, repo forge.Repo, j job.Job, shown *job.Published) error {
	all, err := p.Store.List(ctx, j.Repository.ID, j.PR)
	if err != nil {
		return fmt.Errorf("read the pull request's jobs: %w", err)
	}
	group := groupOf(all, j)
	for _, k := range group {
		shown.Seen = shown.Seen || k.Published.Seen
		shown.Rocket = shown.Rocket || k.Published.Rocket
		if shown.CheckRun == 0 {
			shown.CheckRun = k.Published.CheckRun
		}
	}
	if err := p.react(ctx, hub, repo, j, &shown.Seen, forge.ReactionEyes); err != nil {
		return err
	}
	if !finished(j) {
		return p.lineGoesOn(ctx, hub, repo, j, group, shown)
	}
	results, err := p.lineResults(ctx, j)
	if err != nil {
		return err
	}
	for _, r := range results {
		if r.job.ID != j.ID {
			continue
		}
		shown.Summary = r.summary()
		// A decision is kept before anybody is told of it.
		if err := p.keepRecord(ctx, r); err != nil {
			return err
		}
	}
	main, err := p.mainReport(ctx, j)
	if err != nil {
		return err
	}
	if err := p.putCheck(ctx, hub, repo, j, p.groupCheck(group, results, main), nil, shown); err != nil {
		return err
	}
	if len(results) == 0 {
		return p.takeLabelOff(ctx, hub, repo, j) // taken back before any line ran
	}
	matrix := composeMatrix(all, j, results)
	matrix.Main = main
	if err := p.comment(ctx, hub, repo, j, matrix.Markdown(), shown); err != nil {
		return err
	}
	if ended(group) {
		if err := p.react(ctx, hub, repo, j, &shown.Rocket, forge.ReactionRocket); err != nil {
			return err
		}
	}
	return p.takeLabelOff(ctx, hub, repo, j)
}

// groupOf are the jobs of a backport's command, in the order of its lines.
func groupOf(all []job.Job, j job.Job) []job.Job {
	var group []job.Job
	for _, k := range all {
		if k.ID == j.ID {
			k = j // what is noted as shown is what was read first
		}
		if k.Backport != nil && k.Backport.Group == j.Backport.Group && k.Head.SHA == j.Head.SHA {
			group = append(group, k)
		}
	}
	slices.SortStableFunc(group, func(a, b job.Job) int {
		return slices.Index(j.Backport.Lines, a.Backport.Line) - slices.Index(j.Backport.Lines, b.Backport.Line)
	})
	return group
}

func ended(group []job.Job) bool {
	return !slices.ContainsFunc(group, func(k job.Job) bool { return !finished(k) })
}

// first is the job of the group that was made first, whose ID the check run bears.
func first(group []job.Job) job.Job {
	return slices.MinFunc(group, func(a, b job.Job) int { return a.ID.Serial() - b.ID.Serial() })
}

// lately keeps when each group's check run was last written, so that many lines
// make no more progress than one.
type lately struct {
	mu sync.Mutex
	at map[string]time.Time
}

// due tells whether so much time has gone by since a group was last written, and
// begins to count anew then.
func (l *lately) due(group string, now time.Time, every time.Duration) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if last, ok := l.at[group]; ok && now.Sub(last) < every {
		return false
	}
	if l.at == nil || len(l.at) > 10_000 {
		l.at = map[string]time.Time{}
	}
	l.at[group] = now
	return true
}

// lineGoesOn shows where the lines of a command stand while one of them waits or runs.
func (p *Publisher) lineGoesOn(ctx context.Context, hub Hub, repo forge.Repo, j job.Job, group []job.Job, shown *job.Published) error {
	place := ""
	if j.State == job.Queued {
		place = p.place(j)
		defer p.line.tell(j.ID, place)
	}
	again := j.Published.CheckRun != 0 && (isProgress(j) || j.State == job.Queued)
	key := fmt.Sprintf("%d %d %s", j.Repository.ID, j.PR, j.Backport.Group)
	if !p.lines.due(key, p.Now(), p.progressEvery()) && again {
		return nil
	}
	run := p.groupRun(group)
	run.Title, run.Summary = groupTitle(group), p.groupSummary(group)
	return p.putCheck(ctx, hub, repo, j, run, nil, shown)
}

// groupRun is a group's check run without what it says.
func (p *Publisher) groupRun(group []job.Job) forge.CheckRun {
	f := first(group)
	run := forge.CheckRun{Name: backportName, HeadSHA: f.Head.SHA, ExternalID: string(f.ID), DetailsURL: p.pageURL(f),
		Status: "in_progress", Actions: groupButtons(group)}
	if !slices.ContainsFunc(group, func(k job.Job) bool { return k.State != job.Queued }) {
		run.Status = "queued"
	}
	return run
}

func groupButtons(group []job.Job) []forge.Action {
	if !ended(group) {
		return []forge.Action{{Label: "Cancel", Description: "Take the lines back that have not ended", Identifier: job.ButtonCancel}}
	}
	return []forge.Action{{Label: "Run again", Description: "The same lines once more", Identifier: job.ButtonRunAgain}}
}

func groupTitle(group []job.Job) string {
	n := 0
	for _, k := range group {
		if finished(k) {
			n++
		}
	}
	return fmt.Sprintf("%d of %s ended", n, report.Plural(len(group), "line has", "lines have"))
}

// groupSummary says of each line where it stands, without reading its samples.
func (p *Publisher) groupSummary(group []job.Job) string {
	var b strings.Builder
	b.WriteString("| line | |\n|---|---|\n")
	for _, k := range group {
		c := backport.CellOf(k, nil)
		said := c.Kind.Words()
		switch {
		case k.State == job.Queued:
			said = strings.TrimSpace("waits for a runner. " + p.place(k))
		case k.State == job.Running:
			said = report.ProgressTitle(k.Progress)
		case k.Published.Summary != nil:
			said = k.Published.Summary.Headline
		case finished(k):
			said = "has ended"
		}
		fmt.Fprintf(&b, "| %s | %s |\n", report.Cell(report.Plain(report.Short(c.Line, 80))), report.Cell(report.Plain(report.Short(said, 300))))
		if b.Len() > report.MaxMarkdown/2 {
			break
		}
	}
	return b.String()
}

// groupCheck is a group's check run once one of its lines has ended.
func (p *Publisher) groupCheck(group []job.Job, results []lineResult, main *report.Report) forge.CheckRun {
	m := newMatrix(group[len(group)-1])
	m.Main = main
	for _, k := range group {
		m.Cells = append(m.Cells, cellFor(k, results))
	}
	run := p.groupRun(group)
	run.Title, run.Summary = groupTitle(group), m.Markdown()
	if ended(group) {
		check := m.Check()
		run.Status, run.Title, run.Conclusion = "completed", check.Title, string(check.Conclusion)
		if !slices.ContainsFunc(m.Cells, func(c backport.Cell) bool { return c.Kind != backport.Cancelled }) {
			run.Conclusion = "cancelled"
		}
		for _, k := range group {
			if k.Finished.After(run.EndedAt) {
				run.EndedAt = k.Finished
			}
		}
		run.EndedAt = firstTime(run.EndedAt, p.Now())
	}
	return run
}

func newMatrix(j job.Job) backport.Matrix {
	return backport.Matrix{Repository: j.Repository, PR: j.PR, Head: j.Head, Spec: j.Spec, Change: j.Backport.Change, Outdated: j.Outdated}
}

// toMatrix has the head's matrix composed anew when the ordinary comparison that
// stands beside its lines has ended.
func (p *Publisher) toMatrix(ctx context.Context, j job.Job) error {
	if j.State != job.Publishing {
		return nil
	}
	all, err := p.Store.List(ctx, j.Repository.ID, j.PR)
	if err != nil {
		return fmt.Errorf("read the pull request's jobs: %w", err)
	}
	for _, k := range slices.Backward(all) {
		if k.Backport == nil || k.Head.SHA != j.Head.SHA || k.Published.CommentID == 0 {
			continue
		}
		if _, err := p.Store.Update(ctx, k.ID, func(k *job.Job) error { k.Refresh++; return nil }); err != nil {
			return fmt.Errorf("have the matrix composed anew: %w", err)
		}
		return nil
	}
	return nil
}

// mainReport is the newest comparison of the head with its own base; nil: there is none.
func (p *Publisher) mainReport(ctx context.Context, j job.Job) (*report.Report, error) {
	j.Backport = nil
	all, err := p.headReports(ctx, j)
	if err != nil {
		return nil, err
	}
	for _, r := range slices.Backward(all) {
		if r.whole != nil {
			return r.whole, nil
		}
	}
	return nil, nil
}
