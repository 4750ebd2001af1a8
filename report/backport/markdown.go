package backport

import (
	"fmt"
	"strings"

	"github.com/prbench/prbench/report"
)

// How much of the whole each folded part may take, in bytes.
const (
	mostCells  = 40     // rows of the table
	tableBytes = 24_000 // of the table of lines
	wideBytes  = 14_000 // of the table of benchmarks by lines
	tailLines  = 25
	tailBytes  = 3_000
	closing    = 300 // what a folded part's frame and the last sentences take
)

// Markdown writes the matrix for a comment: a headline that can be quoted, the
// lines as rows, and behind them, folded, each benchmark on each line and each
// line's own report as far as there is room. It is never longer than
// report.MaxMarkdown bytes.
func (m *Matrix) Markdown() string {
	var b strings.Builder
	b.WriteString("### " + m.headline(report.Plain) + "\n\n")
	fmt.Fprintf(&b, "Backport of %s", m.changeWords(report.Plain))
	if m.Head.SHA != "" {
		fmt.Fprintf(&b, " (head %s)", report.CommitMarkdown(m.Repository, m.Head.SHA))
	}
	fmt.Fprintf(&b, ", each line compared with its own tip, at a margin of %s.\n\n", report.ExactPercent(m.margin()))
	if m.Outdated {
		b.WriteString(report.OutdatedNotice)
	}
	b.WriteString(m.table())
	b.WriteString(m.open())
	for _, part := range []string{m.wide(), m.recipe(), m.failures(), m.design()} {
		if b.Len()+len(part) < report.MaxMarkdown-closing {
			b.WriteString(part)
		}
	}
	m.reports(&b)
	return b.String()
}

func (m *Matrix) margin() float64 {
	if m.Spec.Margin > 0 {
		return m.Spec.Margin
	}
	return defaultMargin
}

// table has the lines as rows, and the main branch's result beside them.
func (m *Matrix) table() string {
	var b strings.Builder
	b.WriteString("| line | tip | verdict | worst benchmark | the change there |\n|---|---|---|---|---|\n")
	left := 0
	for i, c := range m.Cells {
		row := m.row(c)
		if i >= mostCells || b.Len()+len(row) > tableBytes {
			left++
			continue
		}
		b.WriteString(row)
	}
	main := "not measured"
	worst := ""
	if r := m.Main; r != nil {
		main = capital(report.Plain(r.Headline()))
		worst = Cell{Report: r}.worst(report.Plain)
	}
	base := "its own base"
	tip := ""
	if m.Main != nil {
		if ref := m.Main.About.Base.Ref; ref != "" {
			base += ", " + report.Plain(report.Short(ref, lineColumns))
		}
		tip = report.CommitMarkdown(m.Repository, m.Main.About.Base.SHA)
	}
	fmt.Fprintf(&b, "| %s | %s | %s | %s | |\n", report.Cell(base), report.Cell(tip), report.Cell(main), report.Cell(worst))
	if left > 0 {
		fmt.Fprintf(&b, "\n%s more, which the result pages show.\n", report.Plural(left, "row", "rows"))
	}
	return b.String() + "\n"
}

func (m *Matrix) row(c Cell) string {
	verdict := "**" + c.Kind.Words() + "**: " + c.sentence(report.Plain)
	if c.Outdated {
		verdict = "outdated, the line has moved since (" + c.Kind.Words() + ")"
	}
	if c.Page != "" {
		verdict += fmt.Sprintf(" ([report](%s))", c.Page)
	}
	change := c.how(report.Plain)
	if c.Picked != nil && c.Picked.SHA != "" {
		change += ", as " + report.Code(report.ShortSHA(c.Picked.SHA))
	}
	cells := []string{report.Plain(c.name()), report.CommitMarkdown(m.Repository, c.Tip), verdict, c.worst(report.Plain), change}
	for i, text := range cells {
		cells[i] = report.Cell(text)
	}
	return "| " + strings.Join(cells, " | ") + " |\n"
}

// open says what would settle the lines that are inconclusive.
func (m *Matrix) open() string {
	var b strings.Builder
	for _, c := range m.present() {
		if how := c.settles(report.Plain); how != "" && b.Len() < tailBytes {
			fmt.Fprintf(&b, "- To settle %s: %s.\n", report.Plain(c.name()), how)
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return b.String() + "\n"
}

// wide is the folded table of each benchmark on each line.
func (m *Matrix) wide() string {
	lines := m.wideLines()
	if len(lines) < 2 {
		return ""
	}
	text, left := cut(lines, wideBytes)
	body := report.Fence(text, "text")
	if left > 0 {
		body += fmt.Sprintf("\n%s more, which the lines' own reports show.\n", report.Plural(left, "benchmark", "benchmarks"))
	}
	return report.Folded("Each benchmark on each line: the improvement with its interval (plus is better), and the verdict", body)
}

// cut joins as many lines as fit, and counts those that do not.
func cut(lines []string, budget int) (string, int) {
	size := 0
	for i, l := range lines {
		if size += len(l) + 1; i > 0 && size > budget {
			return strings.Join(lines[:i], "\n"), len(lines) - i
		}
	}
	return strings.Join(lines, "\n"), 0
}

func (m *Matrix) recipe() string {
	text := report.BackportRecipe(m.PR, m.Change, m.lines(), report.CommandOf(m.Spec))
	if text == "" {
		return ""
	}
	return report.Folded("How to run this yourself", "In a clone of the repository:\n\n"+report.Fence(text, "sh"))
}

// failures shows why lines could not be measured: the last lines that were printed.
func (m *Matrix) failures() string {
	var b strings.Builder
	for _, c := range m.present() {
		log := c.log()
		if log == "" || b.Len() > 4*tailBytes {
			continue
		}
		fmt.Fprintf(&b, "%s:\n\n%s\n", capital(c.sentence(report.Plain)), report.Fence(log, "text"))
	}
	return report.Folded("What was printed where nothing could be measured", b.String())
}

// log is the end of what was printed where a line could not be measured, safe to print.
func (c Cell) log() string {
	if c.Outcome == nil || c.Report != nil || c.Kind == Contained || !c.Kind.Ended() {
		return ""
	}
	text := c.Outcome.Text
	if p := c.Picked; p != nil && c.Kind == Conflicts && p.Text != "" {
		text = p.Text
	}
	if c.Outcome.Log != "" {
		text = strings.TrimRight(text, "\n") + "\n" + c.Outcome.Log
	}
	return report.Tail(strings.TrimLeft(text, "\n"), tailLines, tailBytes)
}

// design says how the verdicts were reached.
func (m *Matrix) design() string {
	var b strings.Builder
	for _, c := range m.present() {
		r := c.Report
		if r == nil || r.RollUp == nil {
			continue
		}
		d := r.Design
		fmt.Fprintf(&b, "- %s: %s, margin %s, risk %s, attempt %d, %s", report.Plain(c.name()), d.Analysis,
			report.ExactPercent(d.Margin), report.ExactPercent(d.Alpha), max(1, d.Attempt), report.Plural(r.RollUp.Declared, "benchmark", "benchmarks"))
		if d.Adaptive() {
			fmt.Fprintf(&b, ", judged after %s pairs", strings.Trim(strings.ReplaceAll(fmt.Sprint(d.Looks), " ", ", "), "[]"))
		}
		if h := r.About.Host; h.Name != "" {
			fmt.Fprintf(&b, ", on %s", report.Code(report.Short(h.Name, lineColumns)))
		}
		b.WriteString("\n")
	}
	if b.Len() == 0 {
		return ""
	}
	b.WriteString("\nA line is safe when every benchmark is shown to be no worse than the margin allows, at the risk of half the figure above for the whole line. " +
		"It regresses when one is worse by more than the margin at a level that takes all of them into account. Everything else is inconclusive.\n")
	return report.Folded("How this was judged", b.String())
}

// reports folds each line's own report, whole or not at all.
func (m *Matrix) reports(b *strings.Builder) {
	var with []Cell
	for _, c := range m.present() {
		if c.Report != nil {
			with = append(with, c)
		}
	}
	for i, c := range with {
		room := report.MaxMarkdown - b.Len() - closing
		// What is left is shared by those that are still to come.
		share := room/(len(with)-i) - closing
		if text := c.Report.MarkdownWithin(share); share > 0 && text != "" {
			b.WriteString(report.Folded("The report of "+summaryText(c.name()), text))
		}
	}
}

// summaryText is plain text inside HTML, as code where GitHub would make a mention,
// a link or a formula of it.
func summaryText(s string) string {
	text := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "\"", "&quot;").Replace(s)
	if report.Plain(s) != s {
		return "<code>" + text + "</code>"
	}
	return text
}
