package report_test

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"

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
