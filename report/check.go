package report

import (
	"fmt"
	"strings"

	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/report/stats"
)

// Conclusion is how a check run ends.
type Conclusion string

// The conclusions that the product gives.
const (
	Success   Conclusion = "success"
	Neutral   Conclusion = "neutral"
	Failed    Conclusion = "failure"
	titleMost            = 200 // columns of a check run's title
)

// Check is what a check run shows at its end.
type Check struct {
	Title       string // plain text, one line
	Summary     string // Markdown, at most MaxMarkdown bytes
	Conclusion  Conclusion
	Annotations []Annotation
}

// Annotation is a remark on a file of the repository.
type Annotation struct {
	Path    string
	Line    int // from 1
	Title   string
	Message string // plain text
}

// Check gives the check run of a report. It fails where the roll-up of a gate
// regresses by what nobody accepted, succeeds where every compared benchmark is shown to be no worse
// than the margin allows, and is neutral otherwise: also where something was
// lost, is missing a verdict or cannot be compared.
func (r *Report) Check() Check {
	return Check{Title: capital(shorten(r.Headline(), titleMost)), Summary: r.Markdown(), Conclusion: r.conclusion(), Annotations: r.annotations()}
}

func (r *Report) conclusion() Conclusion {
	if r.RollUp != nil && r.RollUp.Verdict == stats.Regresses {
		if r.AllAccepted() {
			return Neutral
		}
		return Failed
	}
	if r.Summary.Compared == 0 || len(r.Data.Losses)+len(r.silent()) > 0 || r.RollUp != nil && r.RollUp.Verdict != stats.Safe {
		return Neutral
	}
	for _, row := range r.Rows {
		if row.OnlyOn != "" || row.Twin {
			continue
		}
		switch row.Verdict {
		case stats.Faster, stats.Equivalent, stats.SlowerWithin, stats.NoWorse:
		default:
			return Neutral
		}
	}
	return Success
}

// annotations remark on the file of each regression's case, where the case is
// a file of the repository.
func (r *Report) annotations() []Annotation {
	var out []Annotation
	for _, row := range r.Rows {
		path := caseFile(row.Case)
		if row.Verdict != stats.Regression || row.Twin || path == "" {
			continue
		}
		message := row.sentence
		if change := row.changeText(); change != "" {
			message += ": " + change
		}
		out = append(out, Annotation{
			Path: path, Line: 1,
			Title:   shorten(Visible(row.ID), titleMost),
			Message: fmt.Sprintf("%s, from %s to %s", message, Visible(showValue(row.Stat.Old, row.Unit)), Visible(showValue(row.Stat.New, row.Unit))),
		})
	}
	return out
}

// caseFile is the case as a path inside the repository, empty where it is none.
func caseFile(name string) string {
	if !strings.Contains(name, ".") || strings.ContainsAny(name, " \t\n\\:*") || strings.HasPrefix(name, "/") || Visible(name) != name {
		return ""
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || part == "." || part == ".." {
			return ""
		}
	}
	return name
}

// FailureCheck gives the check run of a job that ended without a comparison. It
// is neutral: nothing was shown about the change's speed.
func FailureCheck(a About, o job.Outcome) Check {
	return Check{Title: FailureHeadline(a, o), Summary: Failure(a, o), Conclusion: Neutral}
}
