package benchfmt

import (
	"strings"
	"unicode/utf8"
)

// Spreadsheet programs take a cell for a formula that begins with one of
// formulaStarts (OWASP's list, with the wide forms that some of them know), quoted
// or not. With settings under which lines are cut at semicolons a cell begins
// behind each of these too, and quotes and spaces may stand before its text.
const (
	formulaStarts = "=+-@＝＋－＠\t\r\n"
	cellEnds      = ";\t\r\n"
	beforeText    = " \""
)

// guardFormulas puts an apostrophe before whatever a spreadsheet program would
// take for a formula, which makes it text there. unguardFormulas takes it off
// again: one apostrophe is added also where there are some already.
func guardFormulas(s string) string {
	if !strings.ContainsAny(s, formulaStarts) {
		return s
	}
	return atFormulas(s, func(apostrophes string) string { return apostrophes + "'" })
}

// unguardFormulas gives back what guardFormulas was given.
func unguardFormulas(s string) string {
	if !strings.Contains(s, "'") {
		return s
	}
	return atFormulas(s, func(apostrophes string) string { return strings.TrimPrefix(apostrophes, "'") })
}

// atFormulas changes the apostrophes, of which there may be none, before each
// beginning of a formula.
func atFormulas(s string, change func(apostrophes string) string) string {
	var b strings.Builder
	begins := true // a cell may begin here
	for len(s) > 0 {
		rest := s
		if begins {
			rest = strings.TrimLeft(s, "'")
		}
		r, n := utf8.DecodeRuneInString(rest)
		apostrophes := s[:len(s)-len(rest)]
		if begins && n > 0 && strings.ContainsRune(formulaStarts, r) {
			apostrophes = change(apostrophes)
		} else if apostrophes != "" {
			begins = false // an apostrophe makes it text already
		}
		b.WriteString(apostrophes)
		b.WriteString(rest[:n])
		begins = strings.ContainsRune(cellEnds, r) || begins && strings.ContainsRune(beforeText, r)
		s = rest[n:]
	}
	return b.String()
}
