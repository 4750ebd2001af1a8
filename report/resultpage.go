package report

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/prbench/prbench/internal/job"
)

// PageLink is a link of a served page to what belongs to it.
type PageLink struct{ Text, URL string }

// Page writes the page of HTML with links to what is served beside it.
func (r *Report) Page(w io.Writer, links []PageLink) error {
	data, err := r.pageData()
	if err != nil {
		return fmt.Errorf("draw the page: %w", err)
	}
	data.Links = links
	return writePage(w, data)
}

// FailurePage writes the page of a job that ended without a comparison, in the
// words of Failure.
func FailurePage(w io.Writer, a About, o job.Outcome, links []PageLink) error {
	a = withHost(a, o)
	r := Report{About: a, Data: &Data{}}
	d := r.aboutPage(FailureHeadline(a, o))
	d.Links = links
	d.Lead = append(d.Lead, withoutMarks(failureSentence(a, o)))
	if o.Text != "" {
		d.Lead = append(d.Lead, shortenLines(o.Text))
	}
	if tail, cut := lastLines(VisibleLog(o.Log), failureLogLines, failureLogBytes); tail != "" {
		name := "What it printed:"
		if cut {
			name = "The last lines of what it printed:"
		}
		d.Failures = append(d.Failures, pageItem{name, tail})
	}
	for _, t := range a.LostTries[:min(len(a.LostTries), 10)] {
		d.Warnings = append(d.Warnings, Warning{"lost-try", shorten(Visible(t), 300)})
	}
	return writePage(w, d)
}

// Underway is what a page tells of a job that has not ended.
type Underway struct {
	About About
	Title string   // one line of plain text
	Lead  []string // sentences of plain text
	// Done of Total process runs; Total 0: that is not known, and no bar is drawn.
	Done, Total int
	// Interim is judged at the last completed look; nil: there is none. Looks says
	// what each of them found.
	Interim *Report
	Looks   []LookFound
	At      time.Time // when this was so
}

// UnderwayPage writes the page of a job that waits or runs.
func UnderwayPage(w io.Writer, u Underway, links []PageLink) error {
	r := Report{About: u.About, Data: &Data{}}
	d := r.aboutPage(u.Title)
	if in := u.Interim; in != nil && len(in.Rows) > 0 {
		in.About, in.RollUp = u.About, nil // a gate is for the end
		var err error
		if d, err = in.pageData(); err != nil {
			return fmt.Errorf("draw the page: %w", err)
		}
		d.Headline, d.Note, d.Detectable, d.Variance, d.Ledger, d.Recipe = u.Title, "", "", nil, nil, ""
		d.Notices = append(d.Notices, pageNotice{"Interim.", capital(in.Headline()) + ". " + interimSentence + "."})
		for _, l := range u.Looks {
			d.Looks = append(d.Looks, newPageLook(l))
		}
	}
	d.Lead, d.Links = u.Lead, links
	if u.Total > 0 {
		d.Progress = &pageProgress{Done: max(0, min(u.Done, u.Total)), Total: u.Total}
	}
	if !u.At.IsZero() {
		d.Lead = append(d.Lead, "As of "+u.At.UTC().Format("2006-01-02 15:04:05")+" UTC; this page renews itself.")
	}
	return writePage(w, d)
}

// WordsPage writes a page that says something and has nothing to show.
func WordsPage(w io.Writer, title string, lead []string, links []PageLink) error {
	d := (&Report{Data: &Data{}}).aboutPage(title)
	d.Lead, d.Links = lead, links
	return writePage(w, d)
}

// aboutPage is the page of what is known of a job without any sample.
func (r *Report) aboutPage(headline string) pageData {
	a := r.About
	d := newPageData(headline, a)
	if h := hostPlain(a); h != "" {
		d.Facts = append(d.Facts, h)
	}
	if a.Outdated {
		d.Notices = r.pageNotices()
	}
	for _, n := range a.Notes {
		d.Warnings = append(d.Warnings, Warning{"note", Visible(n)})
	}
	if a.Command != "" {
		d.Recipe = recipeLines(a)
	}
	for _, f := range machineFacts(a) {
		d.Machine = append(d.Machine, pageItem{f.Name, Visible(f.Text)})
	}
	return d
}

type pageProgress struct{ Done, Total int }

type pageLook struct {
	Title            string
	Resolved, Futile []pageItem
}

// namedOfALook bounds how many rows a look names, of each kind.
const namedOfALook = 50

func newPageLook(l LookFound) pageLook {
	out := pageLook{Title: l.Title()}
	for _, row := range l.Resolved[:min(len(l.Resolved), namedOfALook)] {
		out.Resolved = append(out.Resolved, pageItem{Visible(row.ID), row.Words})
	}
	for _, row := range l.Futile[:min(len(l.Futile), namedOfALook)] {
		out.Futile = append(out.Futile, pageItem{Visible(row.ID), "more runs are not worth their time"})
	}
	return out
}

// withoutMarks takes the marks of code out of Markdown that has no other.
func withoutMarks(s string) string { return strings.ReplaceAll(s, "`", "") }
