package report

import (
	"crypto/sha256"
	_ "embed" // the page's template and style
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"math"
	"strings"

	"github.com/prbench/prbench/report/stats"
)

//go:embed page.html
var pageSource string

//go:embed page.css
var pageStyle string

var pageTemplate = template.Must(template.New("page").Parse(pageSource))

// ContentPolicy is the Content-Security-Policy that a page of HTML works under:
// no script, no request to anywhere, its own style and pictures only.
var ContentPolicy = fmt.Sprintf("default-src 'none'; style-src 'sha256-%s'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
	base64.StdEncoding.EncodeToString(hashOf(pageStyle)))

func hashOf(s string) []byte {
	h := sha256.Sum256([]byte(s))
	return h[:]
}

// How many rows get pictures: enough for reading, and a page that opens.
const (
	forestRows = 80
	stripRows  = 24
)

// pageData is what the template shows: plain text that it escapes.
type pageData struct {
	Style      template.CSS
	Headline   string
	Links      []PageLink
	Lead       []string
	Progress   *pageProgress
	Looks      []pageLook
	Base, Head *pageSide
	Facts      []string
	Detectable string
	Notices    []pageNotice
	Answers    []pageAnswer
	Variance   *pageAnswer
	Forest     *pagePicture
	ForestNote string
	Rows       []pageRow
	Note       string
	Warnings   []Warning
	Hints      []pageItem
	Strips     []pageStrip
	StripsLeft string
	Failures   []pageItem
	Ledger     []pageAttempt
	Recipe     string
	Machine    []pageItem
}

type pageSide struct{ Ref, SHA, URL string }

type pageNotice struct{ Title, Text string }

type pageItem struct{ Name, Text string }

type pageAnswer struct {
	Title, Class, Text string
	Rows               []pageItem
}

type pageRow struct {
	Name, Class, Verdict string
	Cells                []string
}

type pageStrip struct {
	pageItem
	Picture *pagePicture
}

type pagePicture struct {
	Light template.URL
	Dark  template.Srcset
	Alt   string
}

type pageAttempt struct {
	Attempt                       int
	Finished, Runs, Headline, URL string
}

// HTML writes the whole report as one page that needs nothing else: every row,
// the same words as the Markdown, a forest plot and every sample of the worst
// rows, for light and dark screens. Serve it under ContentPolicy.
func (r *Report) HTML(w io.Writer) error {
	return r.Page(w, nil)
}

func writePage(w io.Writer, data pageData) error {
	if err := pageTemplate.Execute(w, data); err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	return nil
}

func (r *Report) pageData() (pageData, error) {
	a := r.About
	d := newPageData(capital(r.Headline()), a)
	d.Detectable = strings.TrimSpace(r.detectableText() + " " + r.seesText(Visible))
	d.Notices, d.Note, d.Recipe = r.pageNotices(), withoutMarks(r.noteText(false)), recipeLines(a)
	for _, f := range []string{r.runsText(), hostPlain(a)} {
		if f != "" {
			d.Facts = append(d.Facts, f)
		}
	}
	r.pageAnswers(&d)
	r.pageTable(&d)
	for _, w := range r.Warnings {
		d.Warnings = append(d.Warnings, Warning{w.Code, Visible(w.Text)})
	}
	for _, n := range a.Notes {
		d.Warnings = append(d.Warnings, Warning{"note", Visible(n)})
	}
	for _, l := range r.Data.Losses {
		tail, _ := lastLines(VisibleLog(l.Log), failureLogLines, failureLogBytes)
		d.Failures = append(d.Failures, pageItem{capital(lossSentence(l)) + ".", tail})
	}
	for _, e := range a.Ledger {
		p := pageAttempt{Attempt: e.Attempt, URL: e.Page, Runs: Visible(e.Runs), Headline: Visible(e.Headline)}
		if !e.Finished.IsZero() {
			p.Finished = e.Finished.UTC().Format("2006-01-02 15:04 UTC")
		}
		d.Ledger = append(d.Ledger, p)
	}
	for _, f := range machineFacts(a) {
		d.Machine = append(d.Machine, pageItem{f.Name, Visible(f.Text)})
	}
	return d, r.pagePictures(&d)
}

func newPageData(headline string, a About) pageData {
	return pageData{
		Style:    template.CSS(pageStyle), // ours
		Headline: headline,
		Base:     newPageSide(a, a.Base.SHA, a.Base.Ref),
		Head:     newPageSide(a, a.Head.SHA, a.Head.Ref),
	}
}

func newPageSide(a About, sha, ref string) *pageSide {
	if sha == "" && ref == "" {
		return nil
	}
	return &pageSide{Ref: Visible(ref), SHA: Visible(shortSHA(sha)), URL: commitURL(a.Repository, sha)}
}

func (r *Report) pageNotices() []pageNotice {
	var out []pageNotice
	if r.About.Outdated {
		out = append(out, pageNotice{"Outdated.", "The pull request has newer commits than the ones measured here."})
	}
	if r.RollUp != nil {
		out = append(out, pageNotice{r.rollUpTitle(), capital(r.RollUpSentence()) + "."})
	}
	if w := r.warning(codeIncomplete); w != nil {
		out = append(out, pageNotice{"Incomplete.", capital(Visible(w.Text)) + "."})
	}
	return out
}

// rowClass is the colour of a verdict.
func rowClass(v stats.Verdict) string {
	switch v {
	case stats.Regression, stats.Slower, stats.SlowerWithin:
		return "worse"
	case stats.Faster:
		return "better"
	case stats.Equivalent, stats.NoWorse:
		return "even"
	}
	return "open"
}

func (r *Report) pageAnswers(d *pageData) {
	for _, k := range answerParts() {
		rows := r.bucketRows(k)
		if len(rows) == 0 {
			continue
		}
		answer := pageAnswer{Title: bucketTitle(k, r.Design.Margin), Class: rowClass(k.verdicts[0])}
		for _, row := range rows {
			answer.Rows = append(answer.Rows, pageItem{Visible(row.ID), Visible(row.plainText(r.Design.Margin))})
		}
		d.Answers = append(d.Answers, answer)
	}
	if rows := r.tooVariable(); len(rows) > 0 {
		d.Variance = &pageAnswer{Title: r.varianceTitle(len(rows)), Text: r.varianceMeaning(rows)}
		for _, row := range rows {
			d.Variance.Rows = append(d.Variance.Rows, pageItem{Visible(row.ID), row.alertText(r.Design.Margin)})
		}
	}
	for _, h := range r.hintList() {
		d.Hints = append(d.Hints, pageItem{Visible(h.row.ID), h.Code + ": " + Visible(h.Text)})
	}
}

func (r *Report) pageTable(d *pageData) {
	for _, row := range r.Rows {
		p := pageRow{Name: Visible(row.ID), Class: rowClass(row.Verdict), Verdict: row.verdictCell()}
		cells := row.tableCells()
		p.Cells = append(p.Cells, cells[:len(cells)-1]...)
		p.Cells = append(p.Cells, row.numberCells()...)
		if row.OnlyOn != "" {
			p.Class, p.Verdict = "open", "only in "+string(row.OnlyOn)
		}
		d.Rows = append(d.Rows, p)
	}
}

func (r *Report) pagePictures(d *pageData) error {
	rows := r.Rows[:min(len(r.Rows), forestRows)]
	var err error
	d.Forest, err = newPagePicture("each benchmark's interval of possible improvements against zero and the margin; the table below has the same numbers",
		func(t theme) *picturePlot { return forest(rows, r.Design.Margin, t) })
	if err != nil {
		return err
	}
	d.ForestNote = r.forestNote()
	left := 0
	for _, row := range r.Rows {
		switch {
		case row.series == nil || row.OnlyOn != "" || math.IsNaN(row.Stat.Improvement):
			continue
		case len(d.Strips) == stripRows:
			left++
			continue
		}
		picture, err := newPagePicture("all samples of both sides, old above new", func(t theme) *picturePlot { return strip(row, t) })
		if err != nil {
			return err
		}
		if picture != nil {
			text := row.Words
			if row.Unit != "" {
				text += ", in " + Visible(row.Unit)
			}
			d.Strips = append(d.Strips, pageStrip{pageItem{Visible(row.ID), text}, picture})
		}
	}
	if left > 0 {
		d.StripsLeft = fmt.Sprintf("The first %d benchmarks are drawn, %d are not.", stripRows, left)
	}
	return nil
}

// forestNote says how to read the forest plot.
func (r *Report) forestNote() string {
	text := fmt.Sprintf("A dot is what was measured, its bar what the data leave possible; the band is ±%s.", exactPercent(r.Design.Margin))
	if r.Design.Attempt > 1 {
		text += " The dot is this run alone and the bar all attempts together: a dot that is hollow (○) lies outside of what they leave possible together."
	}
	return text
}

// newPagePicture draws a picture for light and for dark pages.
func newPagePicture(alt string, of func(theme) *picturePlot) (*pagePicture, error) {
	light, dark := of(lightTheme), of(darkTheme)
	if light == nil || dark == nil {
		return nil, nil
	}
	onLight, err := light.svg()
	if err != nil {
		return nil, err
	}
	onDark, err := dark.svg()
	if err != nil {
		return nil, err
	}
	return &pagePicture{Light: template.URL(dataURL(onLight)), Dark: template.Srcset(dataURL(onDark)), Alt: alt}, nil
}

func dataURL(svg []byte) string {
	return "data:image/svg+xml;base64," + base64.StdEncoding.EncodeToString(svg)
}
