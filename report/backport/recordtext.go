package backport

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/prbench/prbench/report"
	"github.com/prbench/prbench/report/stats"
)

// Text writes the record for people, as plain text.
func (r *Record) Text(w io.Writer) error {
	var b strings.Builder
	b.WriteString(capital(report.Visible(r.Words)) + ".\n\n")
	b.WriteString(strings.Join(aligned(r.facts(report.Visible)), "\n") + "\n")
	if rows := r.table(); len(rows) > 1 {
		b.WriteString("\n" + strings.Join(aligned(rows), "\n") + "\n")
	}
	for _, a := range r.acceptedLines(report.Visible) {
		b.WriteString("\n" + a + "\n")
	}
	if r.Ended.Log != "" {
		b.WriteString("\nWhat was printed last:\n\n" + report.VisibleLog(r.Ended.Log) + "\n")
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("write the record: %w", err)
	}
	return nil
}

// Markdown writes the record for a comment, at most report.MaxMarkdown bytes.
func (r *Record) Markdown() string {
	var b strings.Builder
	b.WriteString("### " + report.Plain(capital(report.Short(r.Words, 1000))) + "\n\n")
	for _, f := range r.facts(report.Code) {
		fmt.Fprintf(&b, "- %s: %s\n", f[0], f[1])
	}
	for _, a := range r.acceptedLines(report.Plain) {
		b.WriteString("- " + a + "\n")
	}
	b.WriteString("\n")
	if rows := r.table(); len(rows) > 1 {
		text, left := cut(aligned(rows), report.MaxMarkdown/2)
		b.WriteString(report.Fence(text, "text"))
		if left > 0 {
			fmt.Fprintf(&b, "\n%s more, which the record has.\n", report.Plural(left, "benchmark", "benchmarks"))
		}
	}
	if log := report.Tail(r.Ended.Log, tailLines, tailBytes); log != "" {
		b.WriteString("\nWhat was printed last:\n\n" + report.Fence(log, "text"))
	}
	return b.String()
}

// factColumns bounds what is told of one thing.
const factColumns = 200

// facts are what the record says beside its verdicts, foreign text put through
// quote. Those that are not known are left out.
func (r *Record) facts(quote func(string) string) [][]string {
	var out [][]string
	add := func(name, text string) {
		if text != "" {
			out = append(out, []string{name, quote(report.Short(text, factColumns))})
		}
	}
	if r.Repository.Name != "" {
		add("repository", r.Repository.Owner+"/"+r.Repository.Name)
	}
	if r.PullRequest > 0 {
		add("pull request", fmt.Sprintf("#%d at %s", r.PullRequest, r.Head))
	}
	add("line", r.Line+" at "+r.Tip)
	add("change", changeOf(r.Change))
	if how := (Cell{Picked: r.Picked}).how(report.Visible); how != "" {
		if r.Picked.SHA != "" {
			how += ", as " + r.Picked.SHA
		}
		add("on the line", how)
		add("patch id", r.Picked.PatchID)
	}
	asked := r.Asked.By
	if !r.Asked.At.IsZero() {
		asked = strings.TrimSpace(asked + " on " + when(r.Asked.At))
	}
	add("asked by", asked)
	add("command", r.Asked.Command)
	if !r.Finished.IsZero() {
		add("ended", when(r.Finished))
	}
	if h := r.Host; h.Name != "" || h.CPU != "" {
		add("machine", strings.Join([]string{h.Name, h.CPU, report.Plural(h.Cores, "core", "cores"), h.Kernel, h.OS, h.Sandbox}, ", "))
		add("fingerprint", h.SHA256)
		add("unfit", strings.Join(h.Unfit, "; "))
	}
	add("design", r.Design.words())
	if s := r.Samples; s != nil {
		add("samples", fmt.Sprintf("%s, %d bytes, digest %s", report.Plural(s.Runs, "run", "runs"), s.Bytes, s.Digest))
	}
	add("judged by", "prbench "+r.Prbench)
	return out
}

func when(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }

func (d RecordDesign) words() string {
	text := fmt.Sprintf("margin %s, risk %s, attempt %d", report.ExactPercent(d.Margin), report.ExactPercent(d.Alpha), d.Attempt)
	if d.Analysis != "" {
		text += ", " + string(d.Analysis)
	}
	if len(d.Looks) > 0 {
		text += fmt.Sprintf(", judged after %s pairs", strings.Trim(strings.ReplaceAll(fmt.Sprint(d.Looks), " ", ", "), "[]"))
	} else if d.Runs > 0 {
		text += ", " + report.Plural(int(d.Runs), "run", "runs") + " a side"
	}
	if d.Declared > 0 {
		text += ", " + report.Plural(d.Declared, "benchmark", "benchmarks")
	}
	return text
}

// table has the benchmarks as rows under a heading.
func (r *Record) table() [][]string {
	rows := [][]string{{"benchmark", "improvement", "verdict"}}
	for _, b := range r.Benchmarks {
		i := [2]float64{float64(b.Interval[0]), float64(b.Interval[1])}
		verdict := stats.NoVerdict
		if b.Verdict != nil {
			verdict = *b.Verdict
		}
		_, by := stats.VerdictOf(i, r.Design.Margin)
		words := report.VerdictWords(verdict, by, b.Unit, r.Design.Margin)
		switch {
		case b.OnlyOn != nil:
			words = "only in " + report.Visible(string(*b.OnlyOn))
		case b.Accepted:
			words += ", accepted"
		}
		rows = append(rows, []string{report.Short(b.Benchmark, nameColumns), report.RangeText(float64(b.Improvement), i), words})
	}
	return rows
}

func (r *Record) acceptedLines(quote func(string) string) []string {
	var out []string
	for _, a := range r.Accepted {
		accepted := report.Acceptance{Accepted: a}
		out = append(out, quote(report.Short(a.Benchmark, nameColumns))+": "+accepted.Text(quote))
		if len(out) == 50 {
			break
		}
	}
	return out
}
