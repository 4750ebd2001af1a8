package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/prbench/prbench/internal/benchfmt"
	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/report/stats"
)

// Limits of the folded parts, in bytes and lines.
const (
	logBytes   = 3_000
	logLines   = 25
	logsShown  = 4
	hintsBytes = 8_000
	closing    = 400 // what the last link and a block's frame take
)

// folded writes the details, one after the other while there is room. A part
// that does not fit is cut at a row or left out; none is left open.
func (r *Report) folded(budget int) string {
	var b strings.Builder
	parts := []func(int) string{r.ledger, r.recipe, r.logTails, r.hostDetails, r.hints, r.numbers}
	for _, part := range parts {
		left := budget - b.Len() - closing
		if left < closing {
			break
		}
		if text := part(left - closing); text != "" && len(text) <= left {
			b.WriteString(text)
		}
	}
	if r.About.Page != "" {
		fmt.Fprintf(&b, "[The whole report, with pictures and samples](%s)\n", r.About.Page)
	}
	return b.String()
}

// details folds a body of whole Markdown blocks under a title of ours.
func details(title, body string) string {
	if body == "" {
		return ""
	}
	return "<details><summary>" + title + "</summary>\n\n" + strings.TrimRight(body, "\n") + "\n\n</details>\n\n"
}

// ledger lists all attempts at this comparison.
func (r *Report) ledger(budget int) string {
	if len(r.About.Ledger) < 2 {
		return ""
	}
	var b strings.Builder
	b.WriteString("| attempt | finished | runs | result |\n|---|---|---|---|\n")
	for _, e := range r.About.Ledger {
		result := Code(shorten(strings.ReplaceAll(e.Headline, "|", "/"), 300))
		if e.Page != "" {
			result = fmt.Sprintf("%s ([report](%s))", result, e.Page)
		}
		finished := ""
		if !e.Finished.IsZero() {
			finished = e.Finished.UTC().Format("2006-01-02 15:04 UTC")
		}
		line := fmt.Sprintf("| %d | %s | %s | %s |\n", e.Attempt, finished, codeUnsafe(strings.ReplaceAll(shorten(Visible(e.Runs), 40), "|", "/")), result)
		if b.Len()+len(line) > budget {
			break
		}
		b.WriteString(line)
	}
	return details(plural(len(r.About.Ledger), "attempt", "attempts")+" at this comparison", b.String()+"\n"+capital(repeatText(r.Design))+".\n")
}

// recipe says how to run the comparison on another machine.
func (r *Report) recipe(int) string {
	lines := recipeLines(r.About)
	if lines == "" {
		return ""
	}
	return details("How to run this yourself", "In a clone of the repository:\n\n"+Fence(lines, "sh"))
}

// recipeLines are the commands that repeat the comparison.
func recipeLines(a About) string {
	if a.Backport != nil {
		return BackportRecipe(a.PR, a.Backport.Change, []string{a.Backport.Line}, a.Command)
	}
	if !isSHA(a.Base.SHA) || !isSHA(a.Head.SHA) {
		return ""
	}
	line := fmt.Sprintf("bot compare --repo . --base %s --head %s", a.Base.SHA, a.Head.SHA)
	if a.Command != "" {
		line += " " + a.Command
	}
	fetch := ""
	if a.PR > 0 {
		fetch = fmt.Sprintf("git fetch origin refs/pull/%d/head\n", a.PR)
	}
	return fetch + shorten(Visible(line), 2000)
}

// logTails shows how processes ended that failed.
func (r *Report) logTails(budget int) string {
	var b strings.Builder
	losses := r.Data.Losses
	for i, l := range losses {
		if i == logsShown {
			fmt.Fprintf(&b, "%s more.\n", plural(len(losses)-i, "kind of failure", "kinds of failures"))
			break
		}
		part := capitalCode(lossSentence(l)) + "\n\n"
		if l.Log != "" {
			tail, _ := lastLines(VisibleLog(l.Log), logLines, logBytes)
			part += "The last lines that it printed:\n\n" + Fence(tail, "text") + "\n"
		}
		if b.Len()+len(part) > budget {
			break
		}
		b.WriteString(part)
	}
	return details("Failed runs", b.String())
}

// capitalCode is a sentence of ours that may hold foreign text.
func capitalCode(s string) string {
	if safe := codeUnsafe(s); safe != s {
		return safe
	}
	return capital(s) + "."
}

// hostDetails describes the machine.
func (r *Report) hostDetails(int) string {
	return details("The machine", hostLines(r.About))
}

func hostLines(a About) string {
	var b strings.Builder
	for _, f := range machineFacts(a) {
		fmt.Fprintf(&b, "- %s: %s\n", f.Name, Code(shorten(Visible(f.Text), 200)))
	}
	return b.String()
}

// machineFacts are what is known of the machine, hostile text.
func machineFacts(a About) []pageItem {
	h := a.Host
	var out []pageItem
	add := func(name, value string) {
		if value != "" {
			out = append(out, pageItem{name, value})
		}
	}
	add("name", h.Name)
	add("CPU", h.CPU)
	if h.Cores > 0 {
		add("cores", strconv.Itoa(h.Cores))
	}
	add("OS", h.OS)
	add("kernel", h.Kernel)
	add("sandbox", h.Sandbox)
	for _, u := range h.Unfit[:min(len(h.Unfit), warningsMost)] {
		add("unfit", u)
	}
	for _, w := range h.Warn[:min(len(h.Warn), warningsMost)] {
		add("warning", w)
	}
	if !a.Started.IsZero() && a.Finished.After(a.Started) {
		add("measured in", a.Finished.Sub(a.Started).Round(time.Second).String())
	}
	return out
}

// hint is a warning of one benchmark.
type hint struct {
	row *Row
	Warning
}

// hintList are the warnings of single benchmarks, without those that have their
// own place above.
func (r *Report) hintList() []hint {
	var out []hint
	for _, row := range r.Rows {
		for _, w := range row.Warnings {
			switch w.Code {
			case codeVariance, codeMissingSide, codeWithinProcess:
				continue
			}
			out = append(out, hint{row, w})
		}
	}
	return out
}

// hints lists them, folded.
func (r *Report) hints(budget int) string {
	var lines []string
	for _, h := range r.hintList() {
		lines = append(lines, fmt.Sprintf("%s: %s: %s", shorten(Visible(h.row.ID), nameColumns), h.Code, Visible(h.Text)))
	}
	if len(lines) == 0 {
		return ""
	}
	body, n := cutLines(lines, min(budget-closing, hintsBytes))
	out := Fence(body, "text")
	if left := len(lines) - n; left > 0 {
		out += fmt.Sprintf("\n%d more%s.\n", left, r.wholeLink())
	}
	return details("Hints on single benchmarks ("+plural(len(lines), "hint", "hints")+"), none of which changes a verdict", out)
}

// numbers are the figures of each benchmark in its unit.
func (r *Report) numbers(budget int) string {
	head := []string{"old", "new", "runs", "cv of one run", "p", "detectable (80 %)"}
	lines := [][]string{}
	var names []string
	for _, row := range r.Rows {
		if row.printed == nil {
			names = append(names, shorten(Visible(row.ID), nameColumns))
			lines = append(lines, row.numberCells())
		}
	}
	if len(lines) == 0 {
		return ""
	}
	text, n := cutLines(alignRight(names, head, lines), budget-closing)
	out := Fence(text, "text")
	if left := len(names) + 1 - n; left > 0 {
		out += fmt.Sprintf("\n%s more%s.\n", plural(left, "row", "rows"), r.wholeLink())
	}
	if len(out)+closing/2 > budget {
		return ""
	}
	return details("The numbers of each benchmark", out)
}

func (row *Row) numberCells() []string {
	c := row.Stat
	runs := fmt.Sprintf("%d", c.Old.N)
	if c.Old.N != c.New.N {
		runs = fmt.Sprintf("%d/%d", c.Old.N, c.New.N)
	}
	if c.NoPercentage {
		c.CV, c.Detectable[1] = math.NaN(), math.NaN()
	}
	return []string{Visible(showValue(c.Old, row.Unit)), Visible(showValue(c.New, row.Unit)), runs, Percent(c.CV), pValue(c.P), Percent(c.Detectable[1])}
}

// showValue is a side's mean with its standard deviation.
func showValue(s stats.Summary, unit string) string {
	if s.N == 0 || math.IsNaN(s.Mean) {
		return notAvailable
	}
	text := benchfmt.Show(s.Mean, unit, 5)
	if s.CV > 0 && !math.IsInf(s.CV, 0) {
		text += " ±" + Percent(s.CV)
	}
	return text
}

// alignRight lays out a small table below a head.
func alignRight(names, head []string, cells [][]string) []string {
	widths := make([]int, len(head))
	nameWidth := 0
	for _, n := range names {
		nameWidth = max(nameWidth, displayWidth(n))
	}
	for i, h := range head {
		widths[i] = displayWidth(h)
		for _, row := range cells {
			widths[i] = max(widths[i], displayWidth(row[i]))
		}
	}
	out := make([]string, 0, len(names)+1)
	for i := -1; i < len(names); i++ {
		var b strings.Builder
		name, row := "", head
		if i >= 0 {
			name, row = names[i], cells[i]
		}
		pad(&b, name, nameWidth, false)
		for j, c := range row {
			b.WriteString("  ")
			pad(&b, c, widths[j], true)
		}
		out = append(out, b.String())
	}
	return out
}

// outcomeSides is what a failing side is called: by the words of the table and
// of the pull request.
func outcomeSides(s job.SideName) string {
	if s == job.New {
		return "head (new)"
	}
	return "base (old)"
}
