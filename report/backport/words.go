package backport

import (
	"fmt"
	"strings"

	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/report"
)

// This file decides the words of a cell and of a matrix. Foreign text in them is
// put through quote: report.Visible for plain text, report.Plain for Markdown.

// kindWords are a kind in a word or two, and how the headline speaks of its lines.
var kindWords = map[Kind]struct{ short, on string }{
	Waiting:      {"not measured yet", "not measured yet on"},
	Running:      {"being measured", "being measured on"},
	Safe:         {"safe", "safe on"},
	Regresses:    {"regresses", "regresses on"},
	Accepted:     {"regresses, accepted", "regresses by what was accepted on"},
	Inconclusive: {"inconclusive", "inconclusive on"},
	Contained:    {"already in", "already in"},
	Conflicts:    {"conflicts", "conflicts with"},
	LineBroken:   {"line does not build", "not measured because the line itself does not build:"},
	ChangeBroken: {"does not build there", "does not build on"},
	NoBenchmarks: {"no benchmarks there", "without its benchmarks on"},
	Unfetched:    {"not fetched", "could not be fetched for"},
	Fault:        {"machine failed", "lost by the benchmark machine on"},
	Cancelled:    {"cancelled", "cancelled on"},
	Forgotten:    {"not kept", "no longer known on"},
}

// Words is the kind in a word or two, ours.
func (k Kind) Words() string { return kindWords[k].short }

// lineColumns bounds the name of a line, nameColumns that of a benchmark.
const (
	lineColumns = 80
	nameColumns = 110
)

// name is the line as the matrix calls it, safe to print.
func (c Cell) name() string {
	name := report.Short(c.Line, lineColumns)
	if c.Ran != "" {
		name += " (" + report.Short(c.Ran, lineColumns) + ")"
	}
	return name
}

// Sentence is what a release manager can quote of a line, in plain text: "on v8.x
// no benchmark is slower by more than 2 % (95 %)".
func (c Cell) Sentence() string { return c.sentence(report.Visible) }

func (c Cell) sentence(quote func(string) string) string {
	line := quote(c.name())
	switch c.Kind {
	case Safe, Regresses, Accepted, Inconclusive:
		return "on " + line + " " + c.Report.RollUpSentence()
	case Waiting:
		text := "on " + line + " it is not measured yet"
		if c.Place != "" {
			text += ". " + strings.TrimSuffix(c.Place, ".")
		}
		return text
	case Running:
		text := "on " + line + " it is being measured"
		if c.Progress != "" {
			text += ": " + c.Progress
		}
		return text
	case Forgotten:
		return "what was measured on " + line + " is not kept any more"
	}
	o := job.Outcome{Kind: job.Fault}
	switch {
	case c.Kind == Cancelled:
		o.Kind = job.Stopped
	case c.Outcome != nil:
		o = *c.Outcome
	}
	return report.LineSentence(c.name(), o, c.By, quote)
}

// how says how the change went onto the line.
func (c Cell) how(quote func(string) string) string {
	p := c.Picked
	if p == nil {
		return ""
	}
	switch p.Kind {
	case job.PickApplies:
		return "applies"
	case job.PickAppliesInPart:
		return fmt.Sprintf("applies without %s that %s there already", report.Plural(len(p.Skipped), "commit", "commits"), isAre(len(p.Skipped)))
	case job.PickThere:
		return "all of it is there already"
	case job.PickConflicts:
		if p.Held {
			return "is in its history, changed since"
		}
		return "does not apply"
	}
	return quote(report.Short(string(p.Kind), lineColumns))
}

func isAre(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// worst names the worst benchmark and says what the data say of it.
func (c Cell) worst(quote func(string) string) string {
	if c.Report == nil {
		return ""
	}
	row := c.Report.Worst()
	if row == nil {
		return ""
	}
	return quote(report.Short(row.ID, nameColumns)) + ": " + row.Change(c.Report.Design.Margin, quote)
}

// Settles says what would settle an inconclusive line, in plain text; empty for others.
func (c Cell) Settles() string { return c.settles(report.Visible) }

func (c Cell) settles(quote func(string) string) string {
	if c.Kind != Inconclusive {
		return ""
	}
	return c.Report.RollUpSettles(quote)
}

// Headline is the answer in one line of plain text: the sentence of a single line,
// else which lines are what.
func (m *Matrix) Headline() string { return m.headline(report.Visible) }

func (m *Matrix) headline(quote func(string) string) string {
	present := m.present()
	if len(present) == 1 {
		return capital(present[0].sentence(quote))
	}
	var parts []string
	for _, k := range Kinds() {
		var lines []string
		for _, c := range present {
			if c.Kind == k {
				lines = append(lines, quote(c.name()))
			}
		}
		if len(lines) > 0 {
			parts = append(parts, kindWords[k].on+" "+join(lines))
		}
	}
	if len(parts) == 0 {
		return "No release line was asked for"
	}
	return capital(strings.Join(parts, "; "))
}

// join lists words as people do.
func join(words []string) string {
	if n := len(words); n > 1 {
		return strings.Join(words[:n-1], ", ") + " and " + words[n-1]
	}
	return strings.Join(words, "")
}

func capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// mainWords says what the change does on the branch that it was made for.
func (m *Matrix) mainWords() string {
	if m.Main == nil {
		return "not measured"
	}
	return m.Main.Headline()
}

// changeOf names the commits of a change, in text that may be foreign.
func changeOf(c job.Change) string {
	if c.Note != "" {
		return c.Note
	}
	return report.Plural(len(c.Picks), "commit", "commits")
}

// changeWords says what is put on the lines.
func (m *Matrix) changeWords(quote func(string) string) string {
	return quote(report.Short(changeOf(m.Change), 200))
}
