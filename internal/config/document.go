package config

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// maxNesting bounds the depth of [ { and of - - on one line. The parser's time
// grows with the square of the depth: 64 KiB of [ cost it ten seconds.
const maxNesting = 16

// document collects what is wrong with one file while its tree is read.
type document struct {
	file     string
	problems Problems
	full     bool // more problems than are worth telling
}

// maxProblems bounds an error's length; the rest would be the same mistake.
const maxProblems = 50

func (d *document) problem(line int, key, format string, args ...any) {
	if len(d.problems) == maxProblems {
		d.full = true
		return
	}
	d.problems = append(d.problems, Problem{File: d.file, Line: line, Key: key, Text: fmt.Sprintf(format, args...)})
}

// at is problem for a value that has a node.
func (d *document) at(n ast.Node, key, format string, args ...any) {
	d.problem(lineOf(n), key, format, args...)
}

func (d *document) err() error {
	if len(d.problems) == 0 {
		return nil
	}
	out := d.problems.sorted()
	if d.full {
		out = append(out, Problem{File: d.file, Text: "and more problems; only the first are listed"})
	}
	return out
}

// parse gives the mapping of the file's one document, or nil after a problem.
func (d *document) parse(data []byte) *ast.MappingNode {
	if !d.readable(data) {
		return nil
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	tokens := lexer.Tokenize(string(data))
	if !d.shallow(tokens) {
		return nil
	}
	file, err := parser.Parse(tokens, 0)
	if err != nil {
		d.syntax(err)
		return nil
	}
	return d.root(file)
}

func (d *document) readable(data []byte) bool {
	switch {
	case len(data) > MaxBytes:
		d.problem(0, "", "the file has %d bytes; want at most %d", len(data), MaxBytes)
		return false
	case len(bytes.TrimSpace(data)) == 0:
		d.problem(0, "", "the file is empty; want at least version: 1")
		return false
	}
	for line := 1; len(data) > 0; {
		r, size := utf8.DecodeRune(data)
		switch {
		case r == utf8.RuneError && size == 1:
			d.problem(line, "", "want UTF-8 text, got the byte 0x%02x", data[0])
			return false
		case r < ' ' && r != '\n' && r != '\t' && r != '\r', r == 0x7f:
			d.problem(line, "", "want text, got the control character 0x%02x", r)
			return false
		case r == '\n':
			line++
		}
		data = data[size:]
	}
	return true
}

func (d *document) shallow(tokens token.Tokens) bool {
	depth, entries, line := 0, 0, 0
	for _, t := range tokens {
		if t.Position.Line != line {
			entries, line = 0, t.Position.Line
		}
		switch t.Type {
		case token.MappingStartType, token.SequenceStartType:
			depth++
		case token.MappingEndType, token.SequenceEndType:
			depth = max(depth-1, 0)
		case token.SequenceEntryType, token.MappingKeyType:
			entries++
		}
		if depth > maxNesting || entries > maxNesting {
			d.problem(line, "", "nested too deeply; want at most %d levels", maxNesting)
			return false
		}
	}
	return true
}

// syntax takes the line and the sentence out of the parser's error, without its
// picture of the source.
func (d *document) syntax(err error) {
	var where yaml.Error
	if !errors.As(err, &where) || where.GetToken() == nil {
		d.problem(0, "", "not YAML: %s", firstLine(err.Error()))
		return
	}
	line, text := where.GetToken().Position.Line, firstLine(where.GetMessage())
	if strings.HasPrefix(text, "mapping key ") && strings.Contains(text, "already defined") {
		d.problem(line, where.GetToken().Value, "the key stands here twice; remove one of them")
		return
	}
	if strings.Contains(text, `'\t'`) || strings.Contains(text, "'\t'") {
		text = "YAML is indented with spaces, not with tabs"
	}
	d.problem(line, "", "not YAML: %s", text)
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

func (d *document) root(file *ast.File) *ast.MappingNode {
	var body ast.Node
	for _, doc := range file.Docs {
		switch {
		case doc.Body == nil:
		case doc.Body.Type() == ast.DirectiveType:
			d.at(doc.Body, "", "directives (%%YAML, %%TAG) are not supported; remove the line")
		case body != nil:
			d.at(doc.Body, "", "want one document, here starts another; remove what follows ---")
		default:
			body = doc.Body
		}
	}
	if body == nil && len(d.problems) == 0 {
		d.problem(0, "", "the file is empty; want at least version: 1")
	}
	if len(d.problems) > 0 {
		return nil
	}
	ast.Walk(plainOnly{d}, body)
	if len(d.problems) > 0 {
		return nil
	}
	mapping, ok := body.(*ast.MappingNode)
	if !ok {
		d.at(body, "", "want keys and values at the top, such as version: 1, got %s", kindOf(body))
		return nil
	}
	return mapping
}

// plainOnly refuses the parts of YAML that let a file mean more than it shows.
type plainOnly struct{ d *document }

func (v plainOnly) Visit(n ast.Node) ast.Visitor {
	switch n.Type() {
	case ast.AnchorType, ast.AliasType:
		v.d.at(n, "", "anchors and aliases (&x, *x) are not supported; write the value out, or quote it if it starts with & or *")
	case ast.TagType:
		v.d.at(n, "", "tags (!x) are not supported; quote the value if it starts with !")
	case ast.MergeKeyType:
		v.d.at(n, "", "merge keys (<<) are not supported; write the keys out")
	case ast.MappingKeyType:
		v.d.at(n, "", "explicit keys (? x) are not supported; write x: value")
	default:
		return v
	}
	return nil
}

func lineOf(n ast.Node) int {
	if n == nil || n.GetToken() == nil || n.GetToken().Position == nil {
		return 0
	}
	return n.GetToken().Position.Line
}

// kindOf names a node's kind for a message.
func kindOf(n ast.Node) string {
	switch n := n.(type) {
	case nil, *ast.NullNode:
		return "nothing"
	case *ast.MappingNode, *ast.MappingValueNode:
		return "keys and values"
	case *ast.SequenceNode:
		return "a list"
	case *ast.BoolNode:
		return "the unquoted " + n.GetToken().Value
	case *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		return "the unquoted number " + quotedBare(n.GetToken().Value)
	case *ast.StringNode:
		return quoted(n.Value)
	case *ast.LiteralNode:
		return "a block of text"
	default:
		return "something else"
	}
}

// quotedBare shows a number as it stands in the file.
func quotedBare(s string) string { return strings.Trim(quoted(s), `"`) }
