package config

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"
)

// maxSegments bounds the depth of a pattern.
const maxSegments = 64

var (
	alternatives    = regexp.MustCompile(`\{[^{}]*,[^{}]*\}`)
	errAlternatives = errors.New("alternatives {a,b} are not supported; write a list of patterns")
)

// Match tells whether a slash-separated path inside a tree matches a pattern of
// `cases` or `harness`: `*`, `?` and `[a-z]` stay inside one part of the path,
// as path.Match has them, and `**` stands for any number of parts, none
// included. An invalid pattern matches nothing; CheckGlob says what is wrong.
func Match(pattern, name string) bool {
	if CheckGlob(pattern) != nil {
		return false
	}
	parts, want := strings.Split(name, "/"), strings.Split(pattern, "/")
	// reach[i] tells whether the pattern's parts so far match parts[:i]. One pass
	// a part keeps the work at parts × pattern, whatever the stars.
	reach := make([]bool, len(parts)+1)
	reach[0] = true
	for _, w := range want {
		next := make([]bool, len(parts)+1)
		if w == "**" {
			for i, seen := 0, false; i <= len(parts); i++ {
				seen = seen || reach[i]
				next[i] = seen
			}
		} else {
			for i := range parts {
				if ok, err := path.Match(w, parts[i]); reach[i] && ok && err == nil {
					next[i+1] = true
				}
			}
		}
		reach = next
	}
	return reach[len(parts)]
}

// IsGlob tells whether a case is a pattern rather than a plain name.
func IsGlob(s string) bool { return strings.ContainsAny(s, "*?[") }

// CheckGlob says what is wrong with a pattern: it must stay inside the tree, out
// of .git, and be of the form that Match reads.
func CheckGlob(pattern string) error {
	switch {
	case strings.ContainsRune(pattern, '\\'):
		return errors.New("backslashes have no meaning in a pattern; write / between folders and [*] for a star itself")
	case strings.ContainsAny(pattern, "{}"):
		return errAlternatives
	case strings.Count(pattern, "/") >= maxSegments:
		return fmt.Errorf("want at most %d folders", maxSegments)
	}
	if err := insideTree(pattern); err != nil {
		return err
	}
	for part := range strings.SplitSeq(pattern, "/") {
		if part != "**" && strings.Contains(part, "**") {
			return fmt.Errorf("** must stand alone between slashes, got %q", part)
		}
		if _, err := path.Match(part, ""); err != nil {
			return fmt.Errorf("a bracket is not closed, or empty, in %q", part)
		}
	}
	return nil
}

// insideTree refuses a path that could leave the checked-out tree or reach
// git's own files.
func insideTree(p string) error {
	switch {
	case p == "":
		return errors.New("want a path inside the repository, got nothing")
	case hasControl(p):
		return errors.New("want a path without control characters")
	case strings.HasPrefix(p, "/"), strings.HasPrefix(p, "~"):
		return fmt.Errorf("want a path relative to the repository, got %s", quoted(p))
	}
	for part := range strings.SplitSeq(p, "/") {
		switch {
		case part == "..":
			return fmt.Errorf("must stay inside the repository, got %s", quoted(p))
		case strings.EqualFold(part, ".git"):
			return fmt.Errorf("must not reach into .git, got %s", quoted(p))
		}
	}
	if !fs.ValidPath(p) || p == "." {
		return fmt.Errorf("want a plain path such as benchmark/x.js, got %s", quoted(p))
	}
	return nil
}

func hasControl(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 })
}
