package report

import (
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"
)

// Terminal writes a finished comment as a person would see it on GitHub, in a
// terminal: titles and strong text bold with color, code as it stands, links
// with their address, folded parts opened. Without color it is plain text. The
// Markdown must come from this package, which keeps control characters out.
func Terminal(w io.Writer, markdown string, color bool) error {
	source := []byte(markdown)
	doc := goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser().Parse(text.NewReader(source))
	t := terminal{source: source, color: color}
	t.blocks(doc, "")
	if _, err := io.WriteString(w, strings.TrimRight(t.out.String(), "\n")+"\n"); err != nil {
		return fmt.Errorf("print the report: %w", err)
	}
	return nil
}

type terminal struct {
	source []byte
	color  bool
	out    strings.Builder
}

// The styles of a terminal (ECMA-48, SGR).
const (
	bold   = "1"
	cyan   = "36"
	yellow = "1;33"
	dim    = "2"
)

func (t *terminal) style(code, s string) string {
	if !t.color || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

// blocks writes the children of a block, each line behind an indent.
func (t *terminal) blocks(parent ast.Node, indent string) {
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		switch n := n.(type) {
		case *ast.Heading:
			t.lines(indent, t.style(bold, t.inline(n)))
			t.out.WriteByte('\n')
		case *ast.Paragraph, *ast.TextBlock:
			t.paragraph(n, indent)
		case *ast.FencedCodeBlock, *ast.CodeBlock:
			t.code(n, indent)
		case *ast.Blockquote:
			t.blocks(n, indent+t.style(dim, "│ "))
			t.out.WriteByte('\n')
		case *ast.List:
			t.list(n, indent)
		case *ast.HTMLBlock:
			t.html(n, indent)
		case *east.Table:
			t.table(n, indent)
		case *ast.ThematicBreak:
			t.lines(indent, strings.Repeat("─", 40))
		default:
			t.blocks(n, indent)
		}
	}
}

// alertPattern is the first line of a GitHub alert.
var alertPattern = regexp.MustCompile(`^\[!(NOTE|TIP|IMPORTANT|WARNING|CAUTION)\]\n?`)

func (t *terminal) paragraph(n ast.Node, indent string) {
	s := t.inline(n)
	if m := alertPattern.FindStringSubmatch(s); m != nil {
		t.lines(indent, t.style(yellow, m[1]))
		s = strings.TrimPrefix(s, m[0])
	}
	t.lines(indent, s)
	if _, tight := n.(*ast.TextBlock); !tight && n.NextSibling() != nil {
		t.lines(indent, "")
	} else if !tight && indent == "" {
		t.out.WriteByte('\n')
	}
}

func (t *terminal) lines(indent, s string) {
	for line := range strings.SplitSeq(s, "\n") {
		t.out.WriteString(strings.TrimRight(indent+line, " ") + "\n")
	}
}

func (t *terminal) code(n ast.Node, indent string) {
	t.lines(indent+"  ", strings.TrimRight(string(n.Lines().Value(t.source)), "\n"))
	t.out.WriteByte('\n')
}

func (t *terminal) list(n *ast.List, indent string) {
	for item := n.FirstChild(); item != nil; item = item.NextSibling() {
		sub := terminal{source: t.source, color: t.color}
		sub.blocks(item, "")
		body := strings.TrimRight(sub.out.String(), "\n")
		for i, line := range strings.Split(body, "\n") {
			mark := "  "
			if i == 0 {
				mark = "• "
			}
			t.out.WriteString(indent + mark + line + "\n")
		}
	}
	if indent == "" && n.Parent().Kind() == ast.KindDocument {
		t.out.WriteByte('\n')
	}
}

// summaryPattern finds the title of a folded part.
var summaryPattern = regexp.MustCompile(`<summary>(.*?)</summary>`)

func (t *terminal) html(n *ast.HTMLBlock, indent string) {
	if m := summaryPattern.FindSubmatch(n.Lines().Value(t.source)); m != nil {
		t.lines(indent, t.style(bold, "▾ "+string(m[1])))
		t.out.WriteByte('\n')
	}
}

func (t *terminal) table(n *east.Table, indent string) {
	for row := n.FirstChild(); row != nil; row = row.NextSibling() {
		var cells []string
		for c := row.FirstChild(); c != nil; c = c.NextSibling() {
			cells = append(cells, t.inline(c))
		}
		s := strings.Join(cells, "  ")
		if row.Kind() == east.KindTableHeader {
			s = t.style(bold, s)
		}
		t.lines(indent, s)
	}
	t.out.WriteByte('\n')
}

// inline writes what stands inside a line.
func (t *terminal) inline(parent ast.Node) string {
	var b strings.Builder
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		switch n := n.(type) {
		case *ast.Text:
			b.Write(n.Segment.Value(t.source))
			if n.SoftLineBreak() || n.HardLineBreak() {
				b.WriteByte('\n')
			}
		case *ast.String:
			b.Write(n.Value)
		case *ast.CodeSpan:
			b.WriteString(t.style(cyan, t.inlinePlain(n)))
		case *ast.Emphasis:
			b.WriteString(t.style(bold, t.inline(n)))
		case *ast.Link:
			label, address := t.inline(n), string(n.Destination)
			b.WriteString(label)
			if t.inlinePlain(n) != address {
				b.WriteString(t.style(dim, " <"+address+">"))
			}
		case *ast.AutoLink:
			b.Write(n.URL(t.source))
		case *ast.RawHTML:
		default:
			b.WriteString(t.inline(n))
		}
	}
	return b.String()
}

func (t *terminal) inlinePlain(n ast.Node) string {
	plain := terminal{source: t.source}
	return plain.inline(n)
}
