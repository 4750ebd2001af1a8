package webhook

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// credentials find what is a secret by its own looks. A person may have pasted
// one into a command, or a parser quoted one of a file; a reply would keep it
// even after the comment is mended. The first group of each is kept.
var credentials = []*regexp.Regexp{
	regexp.MustCompile(`()(?:gh[pousr]|github_pat|npm)_[A-Za-z0-9_]{8,}`),
	regexp.MustCompile(`()(?:glpat-|xox[abposr]-)[A-Za-z0-9-]{8,}`),
	regexp.MustCompile(`()\b(?:A[KS]IA[0-9A-Z]{16}|AIza[0-9A-Za-z_-]{30,}|[sr]k_(?:live|test)_[A-Za-z0-9]{16,})`),
	regexp.MustCompile(`()eyJ[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]*)?`),
	regexp.MustCompile(`()\bS[ACNOPUX][A-Z2-7]{56}\b`),
	regexp.MustCompile(`(?s)()-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\z)`),
	regexp.MustCompile(`([a-zA-Z][a-zA-Z0-9+.-]*://[^\s/:@]*:)[^\s/@]+@`),
	regexp.MustCompile(`(?i)(\bbearer\s+)[A-Za-z0-9._~+/-]{16,}=*`),
}

// plain makes hostile text fit to be shown: secrets are masked, and what cannot
// be seen, or moves what can, is spelled out. Line ends and tabs stay where lines
// is true.
func plain(s string, lines bool) string {
	for _, c := range credentials {
		s = c.ReplaceAllString(s, "${1}***")
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case lines && (r == '\n' || r == '\t'), unicode.IsPrint(r) && !unicode.Is(unicode.Variation_Selector, r):
			b.WriteString(s[i : i+n])
		case r < 0x100:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		i += n
	}
	return b.String()
}

// code shows hostile text as code: one line, bounded, in backticks that it
// cannot close.
func code(s string) string {
	s = plain(s, false)
	if r := []rune(s); len(r) > 200 {
		s = string(r[:200]) + "…"
	}
	if strings.TrimSpace(s) == "" {
		return "(nothing)"
	}
	ticks := strings.Repeat("`", longestRun(s)+1)
	if strings.HasPrefix(s, "`") || strings.HasSuffix(s, "`") {
		return ticks + " " + s + " " + ticks
	}
	return ticks + s + ticks
}

// fence shows hostile text as a block that it cannot close.
func fence(s string) string {
	s = plain(s, true)
	ticks := strings.Repeat("`", max(3, longestRun(s)+1))
	return ticks + "\n" + s + "\n" + ticks
}

func longestRun(s string) int {
	longest, run := 0, 0
	for _, c := range s {
		if c == '`' {
			run++
			longest = max(longest, run)
		} else {
			run = 0
		}
	}
	return longest
}
