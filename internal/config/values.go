package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/prbench/prbench/internal/job"
)

// key is one entry of a mapping: its name, what reads its value, and whether it
// must be there. The tables of keys are the only list of what a file may hold.
type key struct {
	name     string
	required bool
	read     func(n ast.Node, path string)
}

func names(keys []key) []string {
	out := make([]string, len(keys))
	for i, k := range keys {
		out[i] = k.name
	}
	return out
}

// mapping reads keys and values by a table. Problems with one key leave the
// others to be read.
func (d *document) mapping(n ast.Node, path string, keys []key) {
	m, ok := n.(*ast.MappingNode)
	if !ok {
		d.at(n, path, "want keys and values (%s), got %s", strings.Join(names(keys), ", "), kindOf(n))
		return
	}
	found := map[string]bool{}
	for _, v := range m.Values {
		name := keyName(v)
		if found[name] {
			d.at(v.Key, join(path, showKey(name)), "the key stands here twice; remove one of them")
			continue
		}
		found[name] = true
		i := slices.IndexFunc(keys, func(k key) bool { return k.name == name })
		if i < 0 {
			d.at(v.Key, join(path, showKey(name)), "unknown key; the keys here are %s%s",
				strings.Join(names(keys), ", "), didYouMean(name, names(keys)))
			continue
		}
		keys[i].read(v.Value, join(path, name))
	}
	for _, k := range keys {
		if k.required && !found[k.name] {
			d.problem(mappingLine(m), join(path, k.name), "is missing")
		}
	}
}

// mappingLine is the line of a mapping's first key: its own token is the colon
// after it, or the brace before it.
func mappingLine(m *ast.MappingNode) int {
	if len(m.Values) > 0 {
		return lineOf(m.Values[0].Key)
	}
	return lineOf(m)
}

// keyName is a key as written, without quotes.
func keyName(v *ast.MappingValueNode) string {
	if s, ok := v.Key.(*ast.StringNode); ok {
		return s.Value
	}
	return v.Key.GetToken().Value
}

// showKey makes a key of a file fit for the path in a message.
func showKey(name string) string {
	if hasControl(name) || len(name) > 80 || strings.ContainsAny(name, " \".:") || name == "" {
		return quoted(name)
	}
	return name
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// text reads a value that must be text. A number is refused, since 1.10 would
// arrive as 1.1, and so is what YAML reads as a truth value or as nothing.
func (d *document) text(n ast.Node, path string) (string, bool) {
	if s, ok := plainText(n); ok {
		return s, true
	}
	switch n := n.(type) {
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		d.at(n, path, "want text, got %s; put it into quotes: %q", kindOf(n), n.GetToken().Value)
	case *ast.MappingNode:
		advice := ""
		if n.IsFlowStyle {
			advice = "; text that starts with { needs quotes"
		}
		d.at(n, path, "want text, got keys and values%s", advice)
	default:
		d.at(n, path, "want text, got %s", kindOf(n))
	}
	return "", false
}

func plainText(n ast.Node) (string, bool) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		return n.Value.Value, true
	}
	return "", false
}

// textKey is a key whose value is text that check accepts; a nil check accepts
// all.
func (d *document) textKey(name string, to *string, check func(string) error) key {
	return key{name: name, read: func(n ast.Node, path string) {
		s, ok := d.text(n, path)
		if !ok {
			return
		}
		if check != nil {
			if err := check(s); err != nil {
				d.at(n, path, "%v", err)
				return
			}
		}
		*to = s
	}}
}

// oneOf is a key whose value is one of a few words.
func oneOf[T ~string](d *document, name string, to *T, valid []T) key {
	return key{name: name, read: func(n ast.Node, path string) {
		s, ok := d.text(n, path)
		if !ok {
			return
		}
		if !slices.Contains(valid, T(s)) {
			words := make([]string, len(valid))
			for i, v := range valid {
				words[i] = string(v)
			}
			d.at(n, path, "want %s, got %s%s", listed(words), quoted(s), didYouMean(s, words))
			return
		}
		*to = T(s)
	}}
}

func (d *document) boolKey(name string, to *bool) key {
	return key{name: name, read: func(n ast.Node, path string) {
		b, ok := n.(*ast.BoolNode)
		if !ok {
			d.at(n, path, "want true or false, got %s", kindOf(n))
			return
		}
		*to = b.Value
	}}
}

// integer reads a whole number within bounds, written in plain digits.
func (d *document) integer(n ast.Node, path string, least, most int64) (int64, bool) {
	if i, ok := n.(*ast.IntegerNode); ok {
		v, err := strconv.ParseInt(i.Token.Value, 10, 64)
		plain := err == nil && strconv.FormatInt(v, 10) == i.Token.Value
		if plain && v >= least && v <= most {
			return v, true
		}
	}
	d.at(n, path, "want a whole number from %d to %d, got %s", least, most, kindOf(n))
	return 0, false
}

func (d *document) intKey(name string, to *int, least, most int) key {
	return key{name: name, read: func(n ast.Node, path string) {
		if v, ok := d.integer(n, path, int64(least), int64(most)); ok {
			*to = int(v)
		}
	}}
}

func (d *document) timeKey(name string, to *job.Duration, least, most time.Duration) key {
	return key{name: name, read: func(n ast.Node, path string) {
		s, ok := n.(*ast.StringNode)
		if !ok {
			d.at(n, path, "want a duration such as 90s, 5m or 1h, got %s", kindOf(n))
			return
		}
		v, err := parseTime(s.Value, least, most)
		if err != nil {
			d.at(n, path, "%v", err)
			return
		}
		*to = v
	}}
}

// sizeKey is a key whose value is a number of bytes such as 8GiB.
func (d *document) sizeKey(name string, to *int64, least, most int64) key {
	return key{name: name, read: func(n ast.Node, path string) {
		s, ok := n.(*ast.StringNode)
		if !ok {
			d.at(n, path, "want a size such as 512MiB or 8GiB, got %s", kindOf(n))
			return
		}
		v, err := ParseSize(s.Value)
		switch {
		case err != nil:
			d.at(n, path, "%v", err)
		case v < least || v > most:
			d.at(n, path, "want a size from %s to %s, got %s", FormatSize(least), FormatSize(most), quoted(s.Value))
		default:
			*to = v
		}
	}}
}

// items gives the entries of a list; one plain value counts as a list of one
// where single is set.
func (d *document) items(n ast.Node, path string, single bool) []ast.Node {
	switch n := n.(type) {
	case *ast.SequenceNode:
		return n.Values
	case *ast.StringNode, *ast.LiteralNode:
		if single {
			return []ast.Node{n}
		}
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		if single {
			return []ast.Node{n}
		}
	}
	d.at(n, path, "want a list, got %s", kindOf(n))
	return nil
}

// textsKey is a key whose value is a list of different texts that check accepts.
func (d *document) textsKey(name string, to *[]string, single bool, check func(string) error) key {
	return key{name: name, read: func(n ast.Node, path string) {
		var out []string
		for i, item := range d.items(n, path, single) {
			at := path
			if _, list := n.(*ast.SequenceNode); list {
				at = fmt.Sprintf("%s[%d]", path, i)
			}
			s, ok := d.text(item, at)
			if !ok {
				continue
			}
			if err := check(s); err != nil {
				d.at(item, at, "%v", err)
			} else if slices.Contains(out, s) {
				d.at(item, at, "%s stands here twice", quoted(s))
			} else {
				out = append(out, s)
			}
		}
		*to = out
	}}
}

// idsKey is a key whose value is a list of GitHub ids.
func (d *document) idsKey(name string, to *[]int64) key {
	return key{name: name, read: func(n ast.Node, path string) {
		var out []int64
		for i, item := range d.items(n, path, false) {
			if v, ok := d.integer(item, fmt.Sprintf("%s[%d]", path, i), 1, 1<<53); ok {
				out = append(out, v)
			}
		}
		*to = out
	}}
}

// version is the key that every file must have.
func (d *document) version() key {
	return key{name: "version", required: true, read: func(n ast.Node, path string) {
		if i, ok := n.(*ast.IntegerNode); !ok || i.Token.Value != "1" {
			d.at(n, path, "want 1, the only version that this build reads, got %s", kindOf(n))
		}
	}}
}
