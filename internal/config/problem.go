// Package config reads the three configuration files of prbench, strictly: the
// repository's .github/benchmark.yml, the bot's serve.yaml and the runner's
// runner.yaml. Every problem of a file is reported, not only the first, and each
// names the file, the line and the key. The package also holds the job flags,
// one set for the command line and for the comment.
package config

import (
	"fmt"
	"slices"
	"strings"
)

// RepoPath is where a repository keeps its configuration. It is read from the
// default branch only.
const RepoPath = ".github/benchmark.yml"

// MaxBytes is the size of the largest configuration file that is read.
const MaxBytes = 64 << 10

// Problem is one thing that is wrong in a configuration file.
type Problem struct {
	File string // as given to the parser
	Line int    // from 1; 0 where the whole file is meant
	Key  string // "suites.process.format"; empty where the whole file is meant
	Text string // what was found and what was expected; may quote the file
}

func (p Problem) Error() string {
	var b strings.Builder
	b.WriteString(p.File)
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d", p.Line)
	}
	b.WriteString(": ")
	if p.Key != "" {
		b.WriteString(p.Key + ": ")
	}
	b.WriteString(p.Text)
	return b.String()
}

// Problems is everything that is wrong in a configuration file, in the order of
// its lines. The parsers return it as their error.
type Problems []Problem

// Error gives one problem a line.
func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, one := range p {
		lines[i] = one.Error()
	}
	return strings.Join(lines, "\n")
}

// sorted puts the problems into the order of the lines; those of one line stay
// in the order in which they were found.
func (p Problems) sorted() Problems {
	slices.SortStableFunc(p, func(a, b Problem) int { return a.Line - b.Line })
	return p
}

func asError(p Problems) error {
	if len(p) == 0 {
		return nil
	}
	return p
}

// quoted shows hostile or misread text in a message: escaped, and short.
func quoted(s string) string {
	const most = 80
	if len(s) > most {
		return fmt.Sprintf("%q…", strings.ToValidUTF8(s[:most], ""))
	}
	return fmt.Sprintf("%q", s)
}

// listed writes "a, b or c".
func listed(names []string) string {
	switch len(names) {
	case 0:
		return "nothing"
	case 1:
		return names[0]
	}
	return strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1]
}

// didYouMean gives `; did you mean "x"?` for the valid name that is nearest to
// what was written, or nothing where none is near.
func didYouMean(written string, valid []string) string {
	if near := nearest(written, valid); near != "" {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	return ""
}

func nearest(written string, valid []string) string {
	if len(written) > 64 {
		return ""
	}
	folded := strings.ReplaceAll(strings.ToLower(written), "-", "_")
	best, least := "", 1+min(len(written), 8)/3
	for _, name := range valid {
		if d := distance(folded, strings.ReplaceAll(strings.ToLower(name), "-", "_")); d < least {
			best, least = name, d
		}
	}
	return best
}

// distance is the Levenshtein distance in bytes.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
