package config

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/kballard/go-shellquote"
)

// Values are what a suite's command is filled in with for one process run.
type Values struct {
	Case string   // the case's name or path; empty for a suite without cases
	Set  []string // k=v, of --set
	Out  string   // the file that the tool writes its results to
}

// The placeholders of a command.
const (
	placeCase = "{case}"
	placeSet  = "{set}"
	placeOut  = "{out}"
)

// placeholder matches what looks like one, so that a misspelt one is refused
// instead of being handed to the program.
var placeholder = regexp.MustCompile(`\{[a-z_]+\}`)

// Argv gives the argument vector of one process run. The command is split into
// words by the shell's quoting rules first, and the placeholders are filled in
// afterwards, once: a value is never split, never read for placeholders, and no
// shell sees it. A word that holds {set} is repeated for each of the values, so
// that `{set}` gives k=v arguments of their own (as Node's benchmarks read
// them), `--set={set}` gives one option a value, and both vanish where no value
// is given.
func Argv(command string, v Values) ([]string, error) {
	words, err := SplitCommand(command)
	if err != nil {
		return nil, err
	}
	for _, s := range append([]string{v.Case, v.Out}, v.Set...) {
		if strings.ContainsRune(s, 0) {
			return nil, errors.New("a value for the command holds a NUL byte")
		}
	}
	var argv []string
	for _, w := range words {
		if !strings.Contains(w, placeSet) {
			argv = append(argv, fill(w, v, ""))
			continue
		}
		for _, kv := range v.Set {
			argv = append(argv, fill(w, v, kv))
		}
	}
	if len(argv) == 0 || argv[0] == "" {
		return nil, errors.New("the command names no program")
	}
	return argv, nil
}

func fill(word string, v Values, set string) string {
	return strings.NewReplacer(placeCase, v.Case, placeOut, v.Out, placeSet, set).Replace(word)
}

// SplitCommand splits a command into words and refuses what would mean
// something else to a shell than it does here: no shell runs it.
func SplitCommand(command string) ([]string, error) {
	if err := checkUnquoted(command); err != nil {
		return nil, err
	}
	words, err := shellquote.Split(command)
	switch {
	case errors.Is(err, shellquote.UnterminatedSingleQuoteError):
		return nil, errors.New("a single quote is not closed")
	case errors.Is(err, shellquote.UnterminatedDoubleQuoteError):
		return nil, errors.New("a double quote is not closed")
	case err != nil:
		return nil, fmt.Errorf("split the command: %w", err)
	case len(words) == 0 || words[0] == "":
		return nil, errors.New("want a program and its arguments, got nothing")
	}
	valid := []string{placeCase, placeSet, placeOut}
	for _, w := range words {
		for _, p := range placeholder.FindAllString(w, -1) {
			if !slices.Contains(valid, p) {
				return nil, fmt.Errorf("unknown placeholder %s; the placeholders are {case}, {set} and {out}%s"+
					" (braces of the program's own need a space: { x })", p, didYouMean(p, valid))
			}
		}
	}
	if strings.Contains(words[0], placeSet) {
		return nil, errors.New("the program itself cannot be {set}")
	}
	return words, nil
}

var (
	// operator matches a bare word that only a shell would act on.
	operator = regexp.MustCompile(`^(\|\|?|&&?|[0-9]*[<>].*|.*;)$`)
	// assignment matches what only a shell reads as a variable for the program.
	assignment = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*=`)
)

// checkUnquoted looks at what stands outside quotes, which splitting loses.
func checkUnquoted(command string) error {
	var quote rune
	var word strings.Builder // the bare part of the present word
	mixed, first := false, true
	end := func() error {
		w := word.String()
		if w != "" && !mixed && operator.MatchString(w) {
			return fmt.Errorf("no shell runs the command, so %q would reach the program as an argument;"+
				" quote it if that is meant, or write: sh -c '…'", w)
		}
		if first && assignment.MatchString(w) {
			return fmt.Errorf("no shell runs the command, so it cannot start with a variable; write: env %s …", w)
		}
		first = first && w == "" && !mixed
		word.Reset()
		mixed = false
		return nil
	}
	escaped := false
	for _, r := range command {
		switch {
		case r == 0:
			return errors.New("want a command without NUL bytes")
		case escaped:
			escaped = false
		case quote == '"' && r == '\\':
			escaped = true
		case quote != 0:
			if r == quote {
				quote = 0
			}
		case r == '\\':
			return errors.New(`a backslash outside quotes means something else to each reader; put the argument into single quotes ('a\b'), or write / in paths`)
		case r == '\'' || r == '"':
			quote, mixed = r, true
		case r == ' ' || r == '\t' || r == '\n':
			if err := end(); err != nil {
				return err
			}
		case r == '\r':
			return errors.New("want a command without carriage returns")
		default:
			word.WriteRune(r)
		}
	}
	return end()
}
