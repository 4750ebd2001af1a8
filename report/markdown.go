package report

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/report/stats"
)

// MaxMarkdown is the most bytes that Markdown and Failure give. GitHub takes
// 65 536 characters; the rest is for the publisher's marker.
const MaxMarkdown = 60_000

// How much of the whole the parts that grow with the data may take.
const (
	answerBytes  = 9_000
	tableBytes   = 34_000
	warningBytes = 6_000
	spareBytes   = 3_000 // for what frames the table, and a first fold
	nameColumns  = 110   // of a name in the table
)

// Markdown writes the report for a comment: the answer first, then what stands
// behind it. It is never longer than MaxMarkdown bytes, cut at a row with every
// block closed and a link to the whole.
func (r *Report) Markdown() string { return r.markdown(MaxMarkdown) }

// markdown is at most so many bytes long, if its head and its warnings are.
func (r *Report) markdown(most int) string {
	head := "### " + capital(r.Headline()) + "\n\n" + r.header() + r.notices() + r.answers() + r.varianceAlert()
	tail := r.manyComparisons() + r.otherWarnings(warningBytes)
	table := r.table(min(tableBytes, most-len(head)-len(tail)-spareBytes))
	text := head + table + tail
	return text + r.folded(most-len(text))
}

func capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// header says what was compared, how often, where, and what that could show.
func (r *Report) header() string {
	a := r.About
	var parts []string
	if a.Base.SHA != "" || a.Head.SHA != "" {
		parts = append(parts, fmt.Sprintf("old: %s → new: %s", sideMarkdown(a.Repository, a.Base), sideMarkdown(a.Repository, a.Head)))
	}
	if runs := r.runsText(); runs != "" {
		parts = append(parts, runs)
	}
	if h := hostText(a.Host, Code); h != "" {
		parts = append(parts, "on "+h)
	}
	text := strings.Join(parts, " · ")
	for _, line := range []string{r.detectableText(), r.seesText(Code)} {
		if line != "" {
			text = strings.TrimLeft(text+"\n"+line, "\n")
		}
	}
	if text == "" {
		return ""
	}
	return text + "\n\n"
}

// sideMarkdown shows a side as its ref and a link to its commit.
func sideMarkdown(repo job.Repository, s job.Side) string {
	sha := Code(shortSHA(s.SHA))
	if u := commitURL(repo, s.SHA); u != "" {
		sha = fmt.Sprintf("[%s](%s)", sha, u)
	}
	if s.Ref == "" {
		return sha
	}
	return Code(shorten(Visible(s.Ref), 100)) + " " + sha
}

// runsText says how many runs the figures rest on.
func (r *Report) runsText() string {
	least, most := math.MaxInt, 0
	for _, row := range r.Rows {
		if row.OnlyOn == "" {
			least = min(least, row.Stat.Old.N, row.Stat.New.N)
			most = max(most, row.Stat.Old.N, row.Stat.New.N)
		}
	}
	if most == 0 {
		return ""
	}
	n := plural(most, "run", "runs")
	if least < most {
		n = fmt.Sprintf("%d to %d runs", least, most)
	}
	n += " a side"
	if r.Design.Adaptive() {
		n += ", as many as it took (adaptive)"
	}
	if a := r.Design.Attempt; a > 1 {
		n += fmt.Sprintf(", attempt %d, verdicts over all %d", a, a)
	}
	return n
}

// hostText names the machine in a few words, each put through quote.
func hostText(h job.Host, quote func(string) string) string {
	var parts []string
	if h.CPU != "" {
		parts = append(parts, quote(shorten(Visible(h.CPU), 80)))
	}
	if h.Cores > 0 {
		parts = append(parts, plural(h.Cores, "core", "cores"))
	}
	inner := strings.Join(parts, ", ")
	switch {
	case h.Name == "":
		return inner
	case inner == "":
		return quote(shorten(Visible(h.Name), 80))
	}
	return quote(shorten(Visible(h.Name), 80)) + " (" + inner + ")"
}

// hostPlain is hostText for where nothing is rendered.
func hostPlain(a About) string {
	if h := hostText(a.Host, Visible); h != "" {
		return "on " + h
	}
	return ""
}

// detectableText says which changes the run could have shown, for the middle
// benchmark and for the noisiest.
func (r *Report) detectableText() string {
	var half, likely []float64
	for _, row := range r.Rows {
		if d := row.Stat.Detectable; row.OnlyOn == "" && !row.withinProcess() && !row.Stat.NoPercentage && row.Verdict != stats.NoVerdict && !math.IsNaN(d[0]) && !math.IsNaN(d[1]) {
			half, likely = append(half, d[0]), append(likely, d[1])
		}
	}
	if len(likely) == 0 {
		return ""
	}
	slices.Sort(half)
	slices.Sort(likely)
	mid := (len(likely) - 1) / 2
	if len(likely) == 1 {
		return fmt.Sprintf("This run could have detected a change of %s with even odds, of %s in 8 of 10 tries.", Percent(half[0]), Percent(likely[0]))
	}
	return fmt.Sprintf("This run could have detected a change of %s with even odds, of %s in 8 of 10 tries (the benchmark in the middle; the noisiest: %s).",
		Percent(half[mid]), Percent(likely[mid]), Percent(likely[len(likely)-1]))
}

// OutdatedNotice is said above what was measured of an older head.
const OutdatedNotice = "> [!NOTE]\n> Outdated: the pull request has newer commits than the ones measured here.\n\n"

// outdated says that people look at an older commit's report.
func outdated(a About) string {
	if !a.Outdated {
		return ""
	}
	return OutdatedNotice
}

// notices are the facts that change what the answer is worth.
func (r *Report) notices() string {
	var b strings.Builder
	b.WriteString(outdated(r.About))
	if r.RollUp != nil {
		fmt.Fprintf(&b, "**%s** %s.\n\n", r.rollUpTitle(), capital(r.RollUpSentence()))
	}
	if w := r.warning(codeIncomplete); w != nil {
		fmt.Fprintf(&b, "> [!CAUTION]\n> Incomplete: %s.\n\n", codeUnsafe(w.Text))
	}
	if names := r.Summary.OnlyOld; len(names) > 0 {
		fmt.Fprintf(&b, "Only in old (removed?): %s\n\n", codeNames(names, 10))
	}
	if names := r.Summary.OnlyNew; len(names) > 0 {
		fmt.Fprintf(&b, "Only in new (added?): %s\n\n", codeNames(names, 10))
	}
	return b.String()
}

// codeNames lists names as inline code.
func codeNames(names []string, most int) string {
	var shown []string
	for _, n := range names[:min(len(names), most)] {
		shown = append(shown, Code(shorten(Visible(n), nameColumns)))
	}
	text := strings.Join(shown, ", ")
	if len(names) > most {
		text += fmt.Sprintf(" and %d more", len(names)-most)
	}
	return text
}

// unsafe finds in a sentence what Markdown or GitHub would take for markup, a
// mention, a reference, an emoji or a formula.
var unsafe = regexp.MustCompile("[`*_\\[\\]<>@#&|\\\\~!$]|://|(?i)www\\.|\\bgh-[0-9]|\\b[0-9a-f]{7,}\\b|:[a-z0-9+-]+:")

// codeUnsafe keeps a sentence of ours readable, and puts it into inline code
// where foreign text in it could be taken for more than text.
func codeUnsafe(s string) string {
	if v := Visible(s); v != s || unsafe.MatchString(s) {
		return Code(v)
	}
	return s
}
