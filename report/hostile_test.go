package report_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"

	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/report"
)

// ours are the only HTML lines that a report may hold.
var ours = regexp.MustCompile(`^(<details><summary>[^<>]*</summary>|</details>)$`)

// pings finds what GitHub turns into a notification or a link outside of code.
var pings = regexp.MustCompile(`@\w|#\d|\bGH-\d|www\.|://|\b[0-9a-f]{40}\b`)

// checkHarmless parses Markdown as GitHub does and fails where anything but our
// own markup would be rendered: a link that is not allowed, an image, HTML, a
// mention outside of code, a block that is left open, a broken character.
func checkHarmless(t testing.TB, md string, links ...string) {
	t.Helper()
	if len(md) > report.MaxMarkdown {
		t.Errorf("%d bytes, at most %d", len(md), report.MaxMarkdown)
	}
	if !utf8.ValidString(md) {
		t.Error("not valid UTF-8")
	}
	source := []byte(md)
	doc := goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser().Parse(text.NewReader(source))
	open := 0
	html := func(s string) {
		for line := range strings.SplitSeq(strings.TrimSpace(s), "\n") {
			if !ours.MatchString(line) {
				t.Errorf("foreign HTML is rendered: %q", line)
			}
			open += strings.Count(line, "<details>") - strings.Count(line, "</details>")
			if open < 0 || open > 1 {
				t.Errorf("folded parts are nested or closed twice at %q", line)
			}
		}
	}
	link := func(to string) {
		for _, l := range links {
			if strings.HasPrefix(to, l) {
				return
			}
		}
		t.Errorf("foreign link: %q", to)
	}
	err := ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.CodeSpan, *ast.FencedCodeBlock, *ast.CodeBlock:
			return ast.WalkSkipChildren, nil
		case *ast.Link:
			link(string(n.Destination))
		case *ast.AutoLink:
			link(string(n.URL(source)))
		case *ast.Image:
			t.Errorf("an image is rendered: %q", n.Destination)
		case *ast.RawHTML:
			html(string(n.Segments.Value(source)))
		case *ast.HTMLBlock:
			html(string(n.Lines().Value(source)))
		case *ast.Text:
			if s := string(n.Segment.Value(source)); pings.MatchString(s) {
				t.Errorf("text outside of code pings or links: %q", s)
			}
		}
		return ast.WalkContinue, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if open != 0 {
		t.Errorf("%d folded parts are left open", open)
	}
	if fence := openFence(md); fence != "" {
		t.Errorf("the fence %q is left open", fence)
	}
}

// openFence finds a fenced block that the end of the document closes.
func openFence(md string) string {
	open := ""
	for line := range strings.SplitSeq(md, "\n") {
		ticks := line[:len(line)-len(strings.TrimLeft(line, "`"))]
		switch {
		case open == "" && len(ticks) >= 3:
			open = ticks
		case open != "" && strings.TrimRight(line, " ") == ticks && len(ticks) >= len(open):
			open = ""
		}
	}
	return open
}

// hostile are texts that try to leave the place they are put in.
var hostile = []string{
	"`", "``` x", "````", "a`b``c```d", " lead and trail ", "", " ", "\n", "\x00", "\xff\xfe",
	"</details>", "</summary></details><img src=x onerror=alert(1)>", "<!--", "-->", "<script>", "]]>", "<a href=//x>y</a>",
	"@acme/everyone", "dev-b@forge.test", "#12", "acme/engine#7", "GH-3", "https://evil.test/x", "www.evil.test",
	"[x](https://evil.test)", "![x](https://evil.test/i.png)", "| a | b |", "- item", "# title", "> [!WARNING]", "~~~", "***",
	"\u202eabc", "a\r\nb", "\x1b]8;;https://evil.test\x07x\x1b]8;;\x07", ":tada:", "$x$", "\\", "\\`", "0123456789abcdef0123456789abcdef01234567",
	"```\n</details>\n@acme/everyone\n```", strings.Repeat("`", 500), strings.Repeat("漢", 3000), strings.Repeat("x ", 2000),
}

// hostileReport puts a text everywhere where foreign text can come from.
func hostileReport(t testing.TB, s string, more ...string) (*report.Report, report.About, job.Outcome) {
	t.Helper()
	texts := append([]string{s}, more...)
	c := report.NewCollector()
	for i, x := range texts {
		for pair := range 8 {
			for _, side := range []job.SideName{job.Old, job.New} {
				run := job.Run{Suite: x, Case: x, Side: side, Pair: pair, Quoted: []string{x}, Unreadable: 1}
				if pair == 7 && side == job.New {
					run.Signal, run.Log = x, x
				} else {
					run.Samples = []job.Sample{
						{Benchmark: x, Config: x, Unit: "ops/s", Value: float64(100 + i + pair%3)},
						{Benchmark: x, Config: "unit", Unit: x, Value: float64(pair % 2)},
						{Benchmark: x, Config: string(side), Value: 1, Invalid: x},
					}
				}
				c.AddRun(run)
			}
		}
	}
	a := report.About{
		Repository: job.Repository{HTMLURL: "https://forge.test/acme/engine"}, PR: 1,
		Base: job.Side{SHA: strings.Repeat("a", 40), Ref: s}, Head: job.Side{SHA: s, Ref: s},
		Command: s, Suites: texts, Page: "https://bench.test/r/1", Notes: append([]string{"harness changed: " + s}, texts...),
		Host:      job.Host{Name: s, CPU: s, Cores: 4, Kernel: s, OS: s, Sandbox: s, Unfit: texts, Warn: texts, Calibration: &job.Calibration{Suite: s, Pairs: 8, Benchmarks: 2, Unfit: more}},
		LostTries: texts, Stopped: &job.Cancel{By: s, Reason: s}, Outdated: true,
		Ledger: []report.LedgerEntry{{Attempt: 1, Runs: s, Headline: s}, {Attempt: 2, Runs: s, Headline: s}},
	}
	r, err := report.Analyse(c.Data(), report.Options{About: a, Attempt: 2, Gate: true})
	if err != nil {
		t.Fatal(err)
	}
	return r, a, job.Outcome{Side: job.New, Text: s, Log: s, Clash: &job.Clash{Case: s, Side: job.New, Tries: job.MaxTries}}
}

var ourLinks = []string{"https://forge.test/acme/engine/commit/", "https://bench.test/r/1"}

func checkHostile(t testing.TB, s string, more ...string) {
	t.Helper()
	r, a, o := hostileReport(t, s, more...)
	checkHarmless(t, r.Markdown(), ourLinks...)
	for _, kind := range []job.OutcomeKind{job.BuildFailed, job.NothingMeasured, job.CheckoutFailed, job.Fault, job.Stopped} {
		o.Kind = kind
		checkHarmless(t, report.Failure(a, o), ourLinks...)
	}
	check := r.Check()
	if strings.ContainsAny(check.Title, "\n\r") {
		t.Errorf("title of several lines: %q", check.Title)
	}
	var screen strings.Builder
	if err := report.Terminal(&screen, r.Markdown(), false); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsFunc(screen.String(), func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }) {
		t.Errorf("control characters reach the terminal: %q", screen.String())
	}
}

func TestForeignTextIsNeverRenderedWhereverItStands(t *testing.T) {
	for i, s := range hostile {
		t.Run(fmt.Sprintf("%d %.20q", i, s), func(t *testing.T) { checkHostile(t, s) })
	}
	t.Run("all at once", func(t *testing.T) { checkHostile(t, hostile[0], hostile[1:]...) })
}

func FuzzMarkdownHoldsForeignText(f *testing.F) {
	for _, s := range hostile[:3] { // the test above has them all
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) { checkHostile(t, s) })
}
