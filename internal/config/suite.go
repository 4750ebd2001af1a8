package config

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/prbench/prbench/internal/job"
)

// Bounds of the suites.
const (
	maxSuites  = 100
	maxCommand = 4 << 10
	maxName    = 200 // of a case, in bytes
)

var suitePattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)

// Subcommands are the words that /benchmark reads as something else than a
// suite, so that no suite can have them as its name.
func Subcommands() []string {
	return []string{"backport", "cancel", "status", "rerun", "explain", "help", "accept"}
}

func checkSuiteName(s string) error {
	if !suitePattern.MatchString(s) {
		return errors.New("want a suite's name of letters, digits, . _ and -, at most 63")
	}
	if slices.Contains(Subcommands(), strings.ToLower(s)) {
		return fmt.Errorf("/benchmark %s is a command of its own; want another name for the suite", strings.ToLower(s))
	}
	return nil
}

// suites reads all suites and settles which are the defaults.
func (d *document) suites(n ast.Node, path string) []job.Suite {
	m, ok := n.(*ast.MappingNode)
	if !ok || len(m.Values) == 0 {
		d.at(n, path, "want at least one suite, such as process: {format: node, command: …}, got %s", kindOf(n))
		return nil
	}
	if len(m.Values) > maxSuites {
		d.at(n, path, "want at most %d suites, got %d", maxSuites, len(m.Values))
		return nil
	}
	suites := make([]job.Suite, 0, len(m.Values))
	for _, v := range m.Values {
		name := keyName(v)
		at := join(path, showKey(name))
		if err := checkSuiteName(name); err != nil {
			d.at(v.Key, at, "%v", err)
		}
		suites = append(suites, d.suite(v, name, at))
	}
	isDefault := func(s job.Suite) bool { return s.Default }
	switch {
	case slices.ContainsFunc(suites, isDefault):
	case len(suites) == 1:
		suites[0].Default = true
	default:
		d.problem(mappingLine(m), path, "no suite is a default; set default: true on those that /benchmark alone should run")
	}
	return suites
}

func (d *document) suite(v *ast.MappingValueNode, name, path string) job.Suite {
	s := job.Suite{Name: name, Timeout: DefaultSuiteTimeout}
	before := len(d.problems)
	if _, ok := v.Value.(*ast.MappingNode); !ok {
		d.at(v.Key, path, "want the suite's keys (%s), got %s", strings.Join(names(d.suiteKeys(&s)), ", "), kindOf(v.Value))
		return s
	}
	d.mapping(v.Value, path, d.suiteKeys(&s))
	if len(d.problems) == before {
		d.fits(v, path, s)
	}
	return s
}

func (d *document) suiteKeys(s *job.Suite) []key {
	format := oneOf(d, "format", &s.Format, job.Formats())
	format.required = true
	command := d.textKey("command", &s.Command, checkCommand)
	command.required = true
	return []key{
		format,
		d.textsKey("cases", &s.Cases, true, checkCase),
		command,
		d.textKey("output", &s.Output, checkOutput),
		d.textsKey("harness", &s.Harness, true, CheckGlob),
		d.timeKey("timeout", &s.Timeout, minTime, MaxTime),
		d.boolKey("default", &s.Default),
		d.textKey("adhoc", &s.Adhoc, checkCommand),
		d.textKey("adhoc_file", &s.AdhocFile, checkAdhocFile),
		d.textKey("unit", &s.Unit, checkUnit),
		oneOf(d, "better", &s.Better, []job.Better{job.Higher, job.Lower}),
		d.textsKey("counts", &s.Counts, true, checkUnit),
		oneOf(d, "analysis", &s.Analysis, []string{"welch", "paired"}),
	}
}

// fits looks at what only the keys of a suite together tell.
func (d *document) fits(v *ast.MappingValueNode, path string, s job.Suite) {
	say := func(name, format string, args ...any) {
		d.problem(suiteLine(v, name), join(path, name), format, args...)
	}
	usesCase, usesOut := strings.Contains(s.Command, placeCase), strings.Contains(s.Command, placeOut)
	switch {
	case len(s.Cases) > 0 && !usesCase:
		say("command", "the suite has cases, and the command has no {case} to take them")
	case len(s.Cases) == 0 && usesCase:
		say("command", "the command has {case}, and the suite has no cases to put there")
	}
	switch {
	case s.Output == placeOut && !usesOut:
		say("command", "the results are read from {out}, and the command has no {out} to write them to")
	case s.Output != placeOut && usesOut:
		say("output", "the command writes {out}; want output: \"{out}\"")
	}
	if s.Adhoc != "" && !strings.Contains(s.Adhoc, placeCase) {
		say("adhoc", "want {case}, which stands for the file with the text of the benchmark")
	}
	if s.AdhocFile != "" && s.Adhoc == "" {
		say("adhoc_file", "names the file of an ad-hoc benchmark, and the suite has no adhoc command to take it")
	}
}

// suiteLine is the line of a suite's key, or of the suite where the key is absent.
func suiteLine(v *ast.MappingValueNode, name string) int {
	if m, ok := v.Value.(*ast.MappingNode); ok {
		for _, kv := range m.Values {
			if keyName(kv) == name {
				return lineOf(kv.Key)
			}
		}
	}
	return lineOf(v.Key)
}

// adhocFilePattern is a plain file name: neither hidden nor an option, nor with
// anything in it that a path, a shell or a pattern could read as more.
var adhocFilePattern = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_-]{0,47}(\.[A-Za-z0-9_-]{1,16}){0,3}$`)

func checkAdhocFile(s string) error {
	if !adhocFilePattern.MatchString(s) {
		return fmt.Errorf("want a plain file name of letters, digits, _, - and endings, such as bench.mjs or bench.go, got %s", quoted(s))
	}
	return nil
}

func checkCommand(s string) error {
	if len(s) > maxCommand {
		return fmt.Errorf("want at most %d bytes, got %d; put the steps into a script", maxCommand, len(s))
	}
	_, err := SplitCommand(s)
	return err
}

// checkCase accepts a pattern inside the tree, or the plain name of a case. A
// name may be a path or not; it must not pose as an option of the tool.
func checkCase(s string) error {
	switch {
	case s == "" || len(s) > maxName || hasControl(s):
		return fmt.Errorf("want a pattern or a name of at most %d bytes, got %s", maxName, quoted(s))
	case strings.HasPrefix(s, "-"):
		return fmt.Errorf("want a case that the tool does not read as an option, got %s", quoted(s))
	case alternatives.MatchString(s):
		return errAlternatives
	case IsGlob(s):
		return CheckGlob(s)
	case strings.Contains(s, "/"):
		return insideTree(s)
	}
	return nil
}

func checkOutput(s string) error {
	if s == "stdout" || s == placeOut {
		return nil
	}
	if strings.ContainsAny(s, "{}*?[") {
		return fmt.Errorf("want stdout, {out} or the path of one file, got %s", quoted(s))
	}
	return insideTree(s)
}

func checkUnit(s string) error {
	if s == "" || len(s) > 32 || hasControl(s) || strings.TrimSpace(s) != s {
		return fmt.Errorf("want a unit such as ns/op, got %s", quoted(s))
	}
	return nil
}
