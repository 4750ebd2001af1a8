package publish

import (
	"context"
	"strings"

	"github.com/prbench/prbench/internal/benchfmt"
	"github.com/prbench/prbench/internal/forge"
	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/report"
)

// explain answers a printed table with its report, in one comment a command.
func (p *Publisher) explain(ctx context.Context, hub Hub, repo forge.Repo, j job.Job, shown *job.Published) error {
	if err := p.comment(ctx, hub, repo, j, explanation(j), shown); err != nil {
		return err
	}
	return p.react(ctx, hub, repo, j, &shown.Rocket, forge.ReactionRocket)
}

// explanation is the report of a printed table, or why there is none.
func explanation(j job.Job) string {
	t := benchfmt.NewTableReader(strings.NewReader(j.Explain.Table), "table")
	var rows []benchfmt.TableRow
	for t.Scan() {
		rows = append(rows, *t.Row())
	}
	err := t.Err()
	if err == nil {
		var r *report.Report
		r, err = report.Printed(rows, t.Problems(), report.Options{Margin: j.Spec.Margin, Alpha: j.Spec.Alpha, Runs: j.Spec.Runs})
		if err == nil {
			return r.Markdown()
		}
	}
	return "The table could not be explained: " + report.Code(err.Error()) + ". A table that compare.R printed is wanted, with its rows as they were printed."
}
