package report

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// masked stands where a secret stood.
const masked = "***"

// tokenShapes find what is a credential by its own looks. The first group of a
// pattern is kept and the rest masked.
var tokenShapes = []*regexp.Regexp{
	// GitHub's tokens: personal, OAuth, user-to-server, server-to-server, refresh.
	regexp.MustCompile(`()gh[pousr]_[A-Za-z0-9_]{8,}`),
	regexp.MustCompile(`()github_pat_[A-Za-z0-9_]{8,}`),
	// Three base64url parts of which the first is a JSON object.
	regexp.MustCompile(`()eyJ[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]*)?`),
	// Tokens of other services: GitLab, npm, Slack, AWS, Google, Stripe.
	regexp.MustCompile(`()(?:glpat-[A-Za-z0-9_-]{8,}|npm_[A-Za-z0-9]{20,}|xox[abposr]-[A-Za-z0-9-]{8,}|A[KS]IA[0-9A-Z]{16}|AIza[0-9A-Za-z_-]{30,}|[sr]k_(?:live|test)_[A-Za-z0-9]{16,})`),
	// Seeds of nkeys.
	regexp.MustCompile(`()\bS[ACNOPUX][A-Z2-7]{56}\b`),
	regexp.MustCompile(`(?s)()-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\z)`),
	// A password in an address.
	regexp.MustCompile(`([a-zA-Z][a-zA-Z0-9+.-]*://[^\s/:@]*:)[^\s/@]+`),
	regexp.MustCompile(`(?i)(authorization["']?\s*[:=]\s*["']?)(?:(?:basic|bearer|token|digest|negotiate)\s+)?[^\s"',;]+`),
	regexp.MustCompile(`(?i)(\bbearer\s+)[A-Za-z0-9._~+/-]{16,}=*`),
}

// tokenContexts find what is a credential by the words before it. They may mask
// a harmless value, which costs a few letters of a log.
var tokenContexts = []*regexp.Regexp{
	regexp.MustCompile(`(?i)((?:set-)?cookie["']?\s*:\s*)[^\r\n]+`),
	regexp.MustCompile(`(?i)(\bbasic\s+)[A-Za-z0-9+/]{16,}=*`),
	regexp.MustCompile(`(?i)([a-z0-9_]*(?:secret|passwd|password|token|api_?key|private_?key|access_?key)["']?\s*[:=]\s*["']?)[^\s"',;&@]{6,}`),
}

// Mask replaces whatever in s looks like a credential by "***". Everything that
// the product shows to people and that may hold foreign text passes through it.
func Mask(s string) string {
	return replaceSecrets(replaceSecrets(s, tokenShapes), tokenContexts)
}

func replaceSecrets(s string, patterns []*regexp.Regexp) string {
	for _, p := range patterns {
		s = p.ReplaceAllString(s, "${1}"+masked)
	}
	return s
}

// Visible makes one line of foreign text (a name, a ref, a title) safe to print:
// tokens are masked, and control characters, invisible ones and broken UTF-8 are
// spelled out. It masks less than Mask, since a benchmark may well be named
// password='short'.
func Visible(s string) string { return visible(replaceSecrets(s, tokenShapes), false) }

// VisibleLog makes a log safe to print: Mask, and control characters other than
// line ends and tabs are spelled out, colours dropped.
func VisibleLog(s string) string {
	s = strings.ReplaceAll(Mask(stripANSI(s)), "\r\n", "\n")
	return visible(s, true)
}

// ansiPattern finds the colour and cursor sequences of terminals.
var ansiPattern = regexp.MustCompile(`\x1b\[[0-9;?]*[ -/]*[@-~]`)

// stripANSI takes colours out of a log: they say nothing once it is quoted. It
// comes before masking, so that no colour can split a token.
func stripANSI(s string) string { return ansiPattern.ReplaceAllString(s, "") }

func visible(s string, lines bool) string {
	if !needsSpelling(s) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n <= 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case lines && (r == '\n' || r == '\t'):
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case hidden(r) && r < 0x100:
			fmt.Fprintf(&b, `\x%02x`, r)
		case hidden(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteString(s[i : i+n])
		}
		i += n
	}
	return b.String()
}

func needsSpelling(s string) bool {
	return !utf8.ValidString(s) || strings.IndexFunc(s, hidden) >= 0
}

// hidden tells whether a rune is one that a reader cannot see or that moves
// others: controls, format characters (direction marks, zero-width ones),
// line separators, private use and variation selectors of no glyph.
func hidden(r rune) bool {
	return unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co, unicode.Cs) ||
		unicode.Is(unicode.Variation_Selector, r) || r == '\u3164' || r == '\u115f' || r == '\u1160' || r == '\uffa0'
}
