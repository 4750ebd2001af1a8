package webhook

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/kballard/go-shellquote"
	"github.com/spf13/pflag"

	"github.com/prbench/prbench/internal/config"
	"github.com/prbench/prbench/internal/job"
)

// Word is how a command starts, at the beginning of a line.
const Word = "/benchmark"

// Verb is what a command asks for.
type Verb string

// The verbs of a comment. Run has no word of its own.
const (
	Run      Verb = "run"
	Rerun    Verb = "rerun"
	Cancel   Verb = "cancel"
	Status   Verb = "status"
	Explain  Verb = "explain"
	Backport Verb = "backport"
	Accept   Verb = "accept"
	Help     Verb = "help"
)

// Command is one command of a comment, as understood.
type Command struct {
	Verb   Verb
	Suites []string
	Flags  config.JobFlags
	// Lines are the release lines that Backport names, as they were written; none
	// stand for all.
	Lines []string
	// Acceptance is what Accept says.
	Acceptance Acceptance
	// Text is the command with phone dashes and quotes put right and white space
	// folded: two commands with the same Text are the same wish.
	Text string
	// Adhoc is the content of the fenced block right after the command; of Explain
	// also that of the quote nearest to it, where no block follows.
	Adhoc string
	// Err says what is wrong with the command, in words for its author. It may
	// quote hostile text.
	Err error
}

// maxCommand bounds one command line; more is no command that a person writes.
const maxCommand = 2000

// maxCommands bounds what one comment can ask for. One more stands, with an Err,
// for all that are too many.
const maxCommands = 10

// parseCommand reads one line that starts with Word.
func parseCommand(line string) Command {
	words, err := splitWords(strings.TrimPrefix(line, Word))
	c := Command{Verb: Run, Text: strings.Join(append([]string{Word}, words...), " "), Err: err}
	if err != nil {
		c.Text = line
		return c
	}
	if len(words) > 0 {
		switch v := Verb(words[0]); v {
		case Rerun, Cancel, Status, Help:
			c.Verb = v
			if len(words) > 1 {
				c.Err = fmt.Errorf("`%s %s` takes nothing after it", Word, v)
			}
			return c
		case Explain:
			c.Verb = v
			c.Flags, c.Suites, c.Err = config.ParseJobArgs(words[1:])
			if c.Err == nil && !onlyDesign(c) {
				c.Err = fmt.Errorf("`%s %s` takes --margin and --runs N, the runs a side that the table was made of", Word, v)
			}
			return c
		case Backport:
			return parseBackport(c, words[1:])
		case Accept:
			return parseAcceptance(c, words)
		}
	}
	c.Flags, c.Suites, c.Err = config.ParseJobArgs(words)
	if errors.Is(c.Err, pflag.ErrHelp) {
		c.Verb, c.Err = Help, nil
	}
	return c
}

// parseBackport reads what stands after the word: names of lines, and flags.
func parseBackport(c Command, words []string) Command {
	c.Verb = Backport
	c.Flags, c.Lines, c.Err = config.ParseJobArgs(words)
	switch {
	case errors.Is(c.Err, pflag.ErrHelp):
		return Command{Verb: Help, Text: c.Text}
	case c.Err != nil:
	case c.Flags.Base != "":
		c.Err = fmt.Errorf("--base does not go with `%s %s`: the tip of each line is the base", Word, Backport)
	case c.Flags.SHA != "":
		c.Err = fmt.Errorf("--sha does not go with `%s %s`: the whole change goes onto the line", Word, Backport)
	case c.Flags.Gate != nil && !*c.Flags.Gate:
		c.Err = fmt.Errorf("--gate=false does not go with `%s %s`: its check says whether the line is safe", Word, Backport)
	case len(c.Lines) > maxLines:
		c.Err = fmt.Errorf("%d lines are too many: one command may name %d", len(c.Lines), maxLines)
	}
	return c
}

// onlyDesign tells whether a command says nothing beyond what a printed table can
// be judged by.
func onlyDesign(c Command) bool {
	f := c.Flags
	if f.Runs != nil && *f.Runs == job.Adaptive {
		return false
	}
	f.Runs, f.Margin = nil, 0
	return len(c.Suites) == 0 && reflect.ValueOf(f).IsZero()
}

// splitWords splits like a shell, without a shell: quotes group, nothing else
// has a meaning. Dashes at a word's start and quotes as phones write them stand
// for the ASCII ones that were meant.
func splitWords(s string) ([]string, error) {
	if len(s) > maxCommand {
		return nil, fmt.Errorf("the command is longer than %d bytes", maxCommand)
	}
	s = asciiQuotes.Replace(s)
	if strings.Contains(s, `\`) && backslashOutsideQuotes(s) {
		return nil, errors.New(`a backslash stands outside quotes, where it would be lost; put the word in quotes: '\d+'`)
	}
	words, err := shellquote.Split(s)
	if err != nil {
		return nil, errors.New("a quote is not closed")
	}
	for i, w := range words {
		words[i] = asciiDashes(w)
	}
	return words, nil
}

var asciiQuotes = strings.NewReplacer("“", `"`, "”", `"`, "„", `"`, "‟", `"`, "«", `"`, "»", `"`,
	"‘", "'", "’", "'", "‚", "'", "‛", "'", "\u00a0", " ", "\u202f", " ")

// asciiDashes writes a word's leading dashes as "--" when a phone has made one
// of them longer; "–5%" after a value stays what it is.
func asciiDashes(w string) string {
	rest := strings.TrimLeft(w, "-‐‑‒–—―−")
	lead := w[:len(w)-len(rest)]
	if lead == "" || strings.Trim(lead, "-") == "" || rest == "" || !('a' <= rest[0] && rest[0] <= 'z') {
		return w
	}
	return "--" + rest
}

func backslashOutsideQuotes(s string) bool {
	var quote rune
	for _, c := range s {
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"':
			quote = c
		case c == '\\':
			return true
		}
	}
	return false
}
