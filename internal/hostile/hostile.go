// Package hostile makes text of strangers (names, logs, commands, errors that
// quote them) fit to be shown: what looks like a credential is masked, and what a
// reader cannot see is spelled out. Whether such a text renders is for the place
// that shows it.
package hostile

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// masked stands where a secret stood.
const masked = "***"

// secret is a pattern of a credential. Its first group is kept and the rest
// masked. Only a text with one of the needles, in lower case, is searched: most
// texts are names of benchmarks, and have none.
type secret struct {
	needles []string
	pattern *regexp.Regexp
}

func newSecret(pattern string, needles ...string) secret {
	return secret{needles, regexp.MustCompile(pattern)}
}

// tokenShapes find what is a credential by its own looks.
var tokenShapes = []secret{
	// GitHub's tokens: personal, OAuth, user-to-server, server-to-server, refresh.
	newSecret(`()gh[pousr]_[A-Za-z0-9_]{8,}`, "ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
	newSecret(`()github_pat_[A-Za-z0-9_]{8,}`, "github_pat_"),
	// Three base64url parts of which the first is a JSON object.
	newSecret(`()eyJ[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]*)?`, "eyj"),
	// Tokens of other services: GitLab, npm, Slack, AWS, Google, Stripe.
	newSecret(`()(?:glpat-[A-Za-z0-9_-]{8,}|npm_[A-Za-z0-9]{20,}|xox[abposr]-[A-Za-z0-9-]{8,}|A[KS]IA[0-9A-Z]{16}|AIza[0-9A-Za-z_-]{30,}|[sr]k_(?:live|test)_[A-Za-z0-9]{16,})`,
		"glpat-", "npm_", "xox", "akia", "asia", "aiza", "k_live_", "k_test_"),
	// Seeds of nkeys.
	newSecret(`()\bS[ACNOPUX][A-Z2-7]{56}\b`, "sa", "sc", "sn", "so", "sp", "su", "sx"),
	newSecret(`(?s)()-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\z)`, "private key-----"),
	// A password in an address.
	newSecret(`([a-zA-Z][a-zA-Z0-9+.-]*://[^\s/:@]*:)[^\s/@]+`, "://"),
	newSecret(`(?i)(authorization["']?\s*[:=]\s*["']?)(?:(?:basic|bearer|token|digest|negotiate)\s+)?[^\s"',;]+`, "authorization"),
	newSecret(`(?i)(\bbearer\s+)[A-Za-z0-9._~+/-]{16,}=*`, "bearer"),
}

// tokenContexts find what is a credential by the words before it. They may mask
// a harmless value, which costs a few letters of a log.
var tokenContexts = []secret{
	newSecret(`(?i)((?:set-)?cookie["']?\s*:\s*)[^\r\n]+`, "cookie"),
	newSecret(`(?i)(\bbasic\s+)[A-Za-z0-9+/]{16,}=*`, "basic"),
	newSecret(`(?i)([a-z0-9_]*(?:secret|passwd|password|token|api_?key|private_?key|access_?key)["']?\s*[:=]\s*["']?)[^\s"',;&@]{6,}`,
		"secret", "passwd", "password", "token", "key"),
}

// Mask replaces whatever in s looks like a credential by "***". Everything that
// the product shows to people and that may hold foreign text passes through it.
func Mask(s string) string {
	return replaceSecrets(replaceSecrets(s, tokenShapes), tokenContexts)
}

// MaskTokens masks only what is a credential by its own looks, for text that a
// program reads again: a benchmark may well be named password='short'.
func MaskTokens(s string) string { return replaceSecrets(s, tokenShapes) }

// replaceSecrets masks what the patterns find. The letters s and k have case
// foldings outside of ASCII ("ſecret"), which regular expressions know and
// strings.ToLower does not; such a text is searched with every pattern.
func replaceSecrets(s string, secrets []secret) string {
	lower := strings.ToLower(s)
	odd := strings.ContainsAny(s, "ſ\u212a")
	for _, p := range secrets {
		if odd || slices.ContainsFunc(p.needles, func(n string) bool { return strings.Contains(lower, n) }) {
			s = p.pattern.ReplaceAllString(s, "${1}"+masked)
		}
	}
	return s
}

// Visible makes one line of foreign text (a name, a ref, a title) safe to print:
// tokens are masked, and control characters, invisible ones and broken UTF-8 are
// spelled out. It masks less than Mask, since a benchmark may well be named
// password='short'.
func Visible(s string) string { return visible(replaceSecrets(s, tokenShapes), false) }

// VisibleLines is Visible for a text of several lines: their ends and tabs stay.
func VisibleLines(s string) string { return visible(replaceSecrets(s, tokenShapes), true) }

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
