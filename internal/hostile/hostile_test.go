package hostile_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/prbench/prbench/internal/hostile"
)

func TestMaskHidesCredentialsAndKeepsTheRest(t *testing.T) {
	body := strings.Repeat("a1B2", 9)
	for _, c := range []struct{ in, want string }{
		{"GITHUB_TOKEN=ghs_" + body, "GITHUB_TOKEN=***"},
		{"x ghp_" + body + " y", "x *** y"},
		{"gho_" + body + ",ghu_" + body + ",ghr_" + body, "***,***,***"},
		{"github_pat_11AAAA_" + body, "***"},
		{"fetch https://x-access-token:ghs_" + body + "@forge.test/a", "fetch https://x-access-token:***@forge.test/a"},
		{"https://user:hunter2@forge.test/a", "https://user:***@forge.test/a"},
		{"Authorization: Bearer " + body, "Authorization: ***"},
		{"authorization: token " + body, "authorization: ***"},
		{"-H 'Authorization: Basic dXNlcjpwYXNzd29yZA=='", "-H 'Authorization: ***'"},
		{"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc_DEF-123 end", "*** end"},
		{"AKIAABCDEFGHIJKLMNOP", "***"},
		{"glpat-" + body, "***"},
		{"my_password=correct-horse", "my_password=***"},
		{"seed SUAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA end", "seed *** end"},
		{"-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\nok", "***\nok"},
		{"-----BEGIN PRIVATE KEY-----\nMIIE", "***"},
		{"Set-Cookie: session=abcdef; Path=/", "Set-Cookie: ***"},
		{"benchmark/process/token.js n=1", "benchmark/process/token.js n=1"},
		{"tokens=1000000 keys=12345678", "tokens=1000000 keys=12345678"},
		{"fs/readfile.js: 1,204,551", "fs/readfile.js: 1,204,551"},
	} {
		got := hostile.Mask(c.in)
		if got != c.want {
			t.Errorf("Mask(%q)\n got %q\nwant %q", c.in, got, c.want)
		}
		if again := hostile.Mask(got); again != got {
			t.Errorf("Mask twice: %q, %q", got, again)
		}
	}
}

func TestNamesOfBenchmarksAreNotMaskedForAWord(t *testing.T) {
	name := "crypto/sign.js password='correct-horse' key=abcdefgh"
	if got := hostile.Visible(name); got != name {
		t.Errorf("got %q", got)
	}
}

func TestControlCharactersAreShown(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"a\x1b[31mb", `a\x1b[31mb`},
		{"a\u202eb", `a\u202eb`},
		{"a\u200bb\ufeff", `a\u200bb\ufeff`},
		{"line\nend\r\t", `line\nend\r\t`},
		{"bad\xffbyte", `bad\xffbyte`},
		{"\u0085\u2028", `\x85\u2028`},
		{"漢字 ö 😀", "漢字 ö 😀"},
	} {
		if got := hostile.Visible(c.in); got != c.want {
			t.Errorf("Visible(%q): got %q, want %q", c.in, got, c.want)
		}
	}
	log := "\x1b[1mfail\x1b[0m\r\nnext\tline\x07\n"
	if got, want := hostile.VisibleLog(log), "fail\nnext\tline\\x07\n"; got != want {
		t.Errorf("VisibleLog: got %q, want %q", got, want)
	}
}

func TestAColourInsideATokenDoesNotSaveIt(t *testing.T) {
	got := hostile.VisibleLog("ghs_" + strings.Repeat("A", 10) + "\x1b[0m" + strings.Repeat("B", 26))
	if got != "***" {
		t.Errorf("got %q", got)
	}
}

func TestATextOfSeveralLinesKeepsThem(t *testing.T) {
	if got, want := hostile.VisibleLines("a\n\tb\r\x1b[1m\u202e"), "a\n\tb\\r\\x1b[1m\\u202e"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func FuzzVisibleIsOneValidLine(f *testing.F) {
	for _, s := range []string{"", "a\nb", "\xff\xfe", "\u202e", "ghp_" + strings.Repeat("x", 36), "`a``b`"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		v := hostile.Visible(s)
		if !utf8.ValidString(v) || strings.ContainsFunc(v, unicode.IsControl) {
			t.Errorf("Visible(%q) = %q", s, v)
		}
		if lines := hostile.VisibleLines(s); strings.Count(lines, "\n") > strings.Count(s, "\n") {
			t.Errorf("VisibleLines(%q) = %q", s, lines)
		}
		if log := hostile.VisibleLog(s); strings.ContainsFunc(log, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }) {
			t.Errorf("VisibleLog(%q) = %q", s, log)
		}
	})
}

// A line of ordinary text around a credential stays, and the credential goes.
func FuzzNoTokenOfGitHubStays(f *testing.F) {
	for _, s := range []string{"", "x ", "https://", "token=", "\u017fecret: ", "a\x1b["} {
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, before, after string) {
		token := "ghp_" + strings.Repeat("a1B2", 9)
		for name, shown := range map[string]string{"Mask": hostile.Mask(before + token + after), "Visible": hostile.Visible(before + token + after),
			"VisibleLines": hostile.VisibleLines(before + token + after), "VisibleLog": hostile.VisibleLog(before + token + after)} {
			if strings.Contains(shown, token) {
				t.Errorf("%s of %q: %q", name, before+token+after, shown)
			}
		}
	})
}
