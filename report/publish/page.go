package publish

import (
	"context"
	"fmt"
	"strings"
	"time"

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
	// place is what is said of a waiting job's place in the line.
	place string
}

// page composes what is to be shown of a job, from the records alone, so that
// composing it again gives the same.
func (p *Publisher) page(ctx context.Context, j job.Job) (page, error) {
	switch {
	case j.State == job.Queued:
		place := p.place(j)
		return page{status: "queued", title: "Waiting for a runner", summary: p.waitingText(ctx, j, place), place: place}, nil
	case j.State == job.Running:
		return page{status: "in_progress", title: progressTitle(j), summary: progressText(j)}, nil
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

func progressTitle(j job.Job) string {
	p := j.Progress
	if p.Phase == "" {
		return "Starting"
	}
	title := strings.ToUpper(string(p.Phase[:1])) + string(p.Phase[1:])
	if p.Total > 0 {
		title += fmt.Sprintf(": %d of %s%d runs", p.Done, atMost(p), p.Total)
	}
	if p.Left > 0 {
		title += ", about " + roundTime(p.Left.Std()) + " left"
		if p.AtMost {
			title += " at most"
		}
	}
	return title
}

// atMost stands before a total that planned looks may cut short.
func atMost(p job.Progress) string {
	if p.AtMost {
		return "at most "
	}
	return ""
}

// barWidth is the width of the progress bar, in characters.
const barWidth = 40

func progressText(j job.Job) string {
	var b strings.Builder
	if p := j.Progress; p.Total > 0 {
		done := min(barWidth, barWidth*p.Done/p.Total)
		fmt.Fprintf(&b, "```\n[%s%s] %d %%\n```\n\n", strings.Repeat("█", done), strings.Repeat("░", barWidth-done), 100*p.Done/p.Total)
	}
	fmt.Fprintf(&b, "%s against %s", report.Code(short(j.Head.SHA)), report.Code(short(j.Base.SHA)))
	if j.RunnerName != "" {
		fmt.Fprintf(&b, ", on %s", report.Code(j.RunnerName))
	}
	if j.Try > 1 {
		fmt.Fprintf(&b, ". This is try %d; the machine lost the one before", j.Try)
	}
	b.WriteString(".\n")
	return b.String()
}

func roundTime(d time.Duration) string {
	if d < time.Minute {
		return fmt.Sprintf("%d s", max(1, int(d.Round(time.Second).Seconds())))
	}
	return fmt.Sprintf("%d min", int((d + 30*time.Second).Minutes()))
}

func short(sha string) string { return sha[:min(10, len(sha))] }

// compose is the comment: the newest report whole, then the other comparisons
// of the same head, folded, as far as there is room.
func compose(reports []headReport) string {
	var b strings.Builder
	for i := len(reports) - 1; i >= 0; i-- {
		r := reports[i]
		switch {
		case r.superseded:
			continue // a later attempt's ledger has it
		case b.Len() == 0:
			b.WriteString(r.markdown)
		case b.Len()+len(r.markdown)+200 < report.MaxMarkdown:
			fmt.Fprintf(&b, "\n\n<details><summary>Also measured: %s</summary>\n\n%s\n\n</details>\n", summaryText(r.title), r.markdown)
		default:
			fmt.Fprintf(&b, "\n\nAlso measured: %s.\n", report.Code(r.title))
		}
	}
	return b.String()
}

// summaryText is plain text inside HTML.
func summaryText(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "@", "@\u200b").Replace(report.Visible(s))
}
