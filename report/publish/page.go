package publish

import (
	"context"
	"fmt"
	"strings"

	"github.com/prbench/prbench/internal/forge"
	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/report"
)

// page is what GitHub is to show of a job.
type page struct {
	status, conclusion string // of the check run
	title, summary     string
	annotations        []forge.Annotation
	// comment is the whole report comment of the head commit; empty while there
	// is nothing to report.
	comment string
	// found is what was measured; nil: nothing was.
	found *job.Summary
	// place is what is said of a waiting job's place in the line.
	place string
}

// page composes what is to be shown of a job, from the records alone, so that
// composing it again gives the same.
func (p *Publisher) page(ctx context.Context, j job.Job) (page, error) {
	switch {
	case j.State == job.Queued:
		place := p.place(j)
		return page{status: "queued", title: "Waiting for a runner", summary: p.waitingText(ctx, j, place) + p.pageLink(j), place: place}, nil
	case j.State == job.Running:
		return page{status: "in_progress", title: report.ProgressTitle(j.Progress), summary: progressText(j) + p.interimText(ctx, j) + p.pageLink(j)}, nil
	case j.Outcome == nil || j.Try == 0:
		why := "cancelled before it ran"
		if j.Cancel != nil && j.Cancel.Reason != "" {
			why += ": " + j.Cancel.Reason
		}
		return page{status: "completed", conclusion: "cancelled", title: "Cancelled", summary: "This comparison was " + report.Code(why) + "."}, nil
	}
	reports, err := p.headReports(ctx, j)
	if err != nil {
		return page{}, err
	}
	out := page{status: "completed", conclusion: "neutral", title: "Done", comment: compose(reports)}
	for _, r := range reports {
		if r.job.ID == j.ID {
			out.title, out.summary, out.conclusion = r.check.Title, r.check.Summary, string(r.check.Conclusion)
			out.found = summaryOf(r.whole)
			for _, a := range r.check.Annotations {
				out.annotations = append(out.annotations, forge.Annotation{Path: a.Path, StartLine: a.Line, EndLine: a.Line,
					Level: "warning", Title: a.Title, Message: a.Message})
			}
		}
	}
	if j.Outcome.Kind == job.Stopped {
		out.conclusion = "cancelled"
	}
	return out, nil
}

// barWidth is the width of the progress bar, in characters.
const barWidth = 40

func progressText(j job.Job) string {
	var b strings.Builder
	if p := j.Progress; p.Total > 0 {
		part := float64(report.ProgressDone(p)) / float64(p.Total)
		done := int(barWidth * part)
		fmt.Fprintf(&b, "```\n[%s%s] %d %%\n```\n\n", strings.Repeat("█", done), strings.Repeat("░", barWidth-done), int(100*part))
	}
	fmt.Fprintf(&b, "%s against %s", report.Code(short(j.Head.SHA)), report.Code(short(j.Base.SHA)))
	if j.RunnerName != "" {
		fmt.Fprintf(&b, ", on %s", report.Code(j.RunnerName))
	}
	if j.Try > 1 {
		fmt.Fprintf(&b, ". This is try %d; the machine lost the one before", j.Try)
	}
	b.WriteString(".\n")
	if place := report.ProgressPlace(j.Progress, report.Code); place != "" {
		b.WriteString("\nIt is at " + place + ".\n")
	}
	return b.String()
}

func short(sha string) string { return sha[:min(10, len(sha))] }

// compose is the comment: the newest report whole, then the other comparisons
// of the same head, folded or by their titles, as far as there is room.
func compose(reports []headReport) string {
	var b strings.Builder
	unnamed := 0
	for i := len(reports) - 1; i >= 0; i-- {
		r := reports[i]
		if r.superseded {
			continue // a later attempt's ledger has it
		}
		if b.Len() == 0 {
			b.WriteString(r.markdown)
			continue
		}
		folded := fmt.Sprintf("\n\n<details><summary>Also measured: %s</summary>\n\n%s\n\n</details>\n", summaryText(r.title), r.markdown)
		line := fmt.Sprintf("\n\nAlso measured: %s.\n", report.Code(r.title))
		switch room := report.MaxMarkdown - b.Len() - spare; {
		case unnamed == 0 && len(folded) < room:
			b.WriteString(folded)
		case unnamed == 0 && len(line) < room:
			b.WriteString(line)
		default:
			unnamed++
		}
	}
	if more := fmt.Sprintf("\n\nAlso measured: %d more, which the check runs show.\n", unnamed); unnamed > 0 && b.Len()+len(more) <= report.MaxMarkdown {
		b.WriteString(more)
	}
	return b.String()
}

// spare is kept free, in bytes, for the number of comparisons that found no room.
const spare = 100

// summaryText is plain text inside HTML.
func summaryText(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "@", "@\u200b").Replace(report.Visible(s))
}
