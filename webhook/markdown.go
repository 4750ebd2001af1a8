package webhook

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"
)

var gfm = goldmark.New(goldmark.WithExtensions(extension.GFM))

// mayHoldCommand is a quick look before the Markdown is read.
func mayHoldCommand(body string) bool { return strings.Contains(body, Word) }

// Commands reads the commands of a comment. They count only at the start of a
// line of a top-level paragraph or heading: not in quotes, lists, tables, code
// or HTML comments, where people talk about commands. lost is true when a
// command at the start of a line has become part of a quote or list only for
// want of an empty line above it.
func Commands(body string) (commands []Command, lost bool) {
	if !mayHoldCommand(body) {
		return nil, false
	}
	src := []byte(strings.ReplaceAll(body, "\r\n", "\n"))
	doc := gfm.Parser().Parse(text.NewReader(src))
	for n := doc.FirstChild(); n != nil; n = n.NextSibling() {
		switch n.Kind() {
		case ast.KindParagraph, ast.KindHeading:
			found := commandLines(n, src)
			for i, line := range found {
				c := parseCommand(line)
				if i == len(found)-1 && endsWithCommand(n, src) {
					c.Adhoc = fenceAfter(n, src)
				}
				if c.Verb == Explain && c.Adhoc == "" {
					c.Adhoc = quoteNear(n, src)
				}
				commands = append(commands, c)
			}
		case ast.KindBlockquote, ast.KindList:
			lost = lost || hasLazyCommand(n, src)
		}
	}
	if len(commands) > maxCommands {
		over := len(commands) - maxCommands
		commands = commands[:maxCommands+1]
		commands[maxCommands].Err = fmt.Errorf("one comment may hold %d commands, and this and what comes after it are %d more", maxCommands, over)
	}
	return commands, lost
}

// commandLines gives the block's lines that start with the word, without the
// HTML comments in them.
func commandLines(block ast.Node, src []byte) []string {
	code, html := spans(block)
	var found []string
	for i := range block.Lines().Len() {
		seg := block.Lines().At(i)
		if inside(code, seg.Start) || inside(html, seg.Start) {
			continue
		}
		line := cutSpans(src, seg.Start, seg.Stop, html)
		if line, ok := asCommand(line); ok {
			found = append(found, line)
		}
	}
	return found
}

// asCommand trims the line and tells whether it is a command: the word alone or
// the word and a space, so that "/benchmarks" is none.
func asCommand(line string) (string, bool) {
	line = strings.TrimSpace(line)
	rest, ok := strings.CutPrefix(line, Word)
	if !ok || (rest != "" && !strings.HasPrefix(rest, " ") && !strings.HasPrefix(rest, "\t") && !strings.HasPrefix(rest, "\u00a0")) {
		return "", false
	}
	return line, true
}

type span struct{ start, stop int }

func inside(spans []span, at int) bool {
	for _, s := range spans {
		if s.start <= at && at < s.stop {
			return true
		}
	}
	return false
}

// spans finds where a block's code spans and raw HTML stand in the source. A
// code span's delimiters are counted in, so that a line that begins with one is
// inside it.
func spans(block ast.Node) (code, html []span) {
	_ = ast.Walk(block, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.CodeSpan:
			if s, ok := extent(n); ok {
				code = append(code, span{s.start - 1, s.stop + 1})
			}
			return ast.WalkSkipChildren, nil
		case *ast.RawHTML:
			for i := range n.Segments.Len() {
				seg := n.Segments.At(i)
				html = append(html, span{seg.Start, seg.Stop})
			}
		}
		return ast.WalkContinue, nil
	})
	return code, html
}

// extent is the part of the source that a node's text covers.
func extent(n ast.Node) (s span, ok bool) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		t, is := c.(*ast.Text)
		if !is {
			continue
		}
		if !ok {
			s, ok = span{t.Segment.Start, t.Segment.Stop}, true
			continue
		}
		s.start, s.stop = min(s.start, t.Segment.Start), max(s.stop, t.Segment.Stop)
	}
	return s, ok
}

func cutSpans(src []byte, start, stop int, cut []span) string {
	var b strings.Builder
	for i := start; i < stop; i++ {
		if !inside(cut, i) {
			b.WriteByte(src[i])
		}
	}
	return b.String()
}

// endsWithCommand tells whether the block's last line is a command, which is
// where an ad-hoc benchmark may follow.
func endsWithCommand(block ast.Node, src []byte) bool {
	last := block.Lines().Len() - 1
	if last < 0 {
		return false
	}
	seg := block.Lines().At(last)
	_, ok := asCommand(string(seg.Value(src)))
	return ok
}

// fenceAfter is the content of the fenced block that follows the node.
func fenceAfter(n ast.Node, src []byte) string {
	fence, ok := n.NextSibling().(*ast.FencedCodeBlock)
	if !ok {
		return ""
	}
	var b strings.Builder
	for i := range fence.Lines().Len() {
		seg := fence.Lines().At(i)
		b.Write(seg.Value(src))
	}
	return b.String()
}

// quoteNear is the text of the last quote before the node, else of the first one
// after it.
func quoteNear(n ast.Node, src []byte) string {
	for at := n.PreviousSibling(); at != nil; at = at.PreviousSibling() {
		if at.Kind() == ast.KindBlockquote {
			return textOf(at, src)
		}
	}
	for at := n.NextSibling(); at != nil; at = at.NextSibling() {
		if at.Kind() == ast.KindBlockquote {
			return textOf(at, src)
		}
	}
	return ""
}

// textOf gives the lines of a container's blocks, without its marks.
func textOf(container ast.Node, src []byte) string {
	var b strings.Builder
	_ = ast.Walk(container, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering || n.Type() != ast.TypeBlock || n == container || n.Lines().Len() == 0 {
			return ast.WalkContinue, nil
		}
		for i := range n.Lines().Len() {
			seg := n.Lines().At(i)
			b.WriteString(strings.TrimRight(string(seg.Value(src)), "\n") + "\n")
		}
		return ast.WalkSkipChildren, nil
	})
	return b.String()
}

// hasLazyCommand looks in a quote or list for a paragraph line that stands at
// the very start of its source line: Markdown's lazy continuation.
func hasLazyCommand(container ast.Node, src []byte) bool {
	lazy := false
	_ = ast.Walk(container, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering || (n.Kind() != ast.KindParagraph && n.Kind() != ast.KindTextBlock) {
			return ast.WalkContinue, nil
		}
		for i := range n.Lines().Len() {
			seg := n.Lines().At(i)
			lineStart := bytes.LastIndexByte(src[:seg.Start], '\n') + 1
			if _, ok := asCommand(string(seg.Value(src))); ok && lineStart == seg.Start && i > 0 {
				lazy = true
			}
		}
		return ast.WalkSkipChildren, nil
	})
	return lazy
}
