package webhook

import (
	"strings"
	"testing"
	"unicode"
)

func TestAReplyMasksWhatLooksLikeASecret(t *testing.T) {
	for name, secret := range map[string]string{
		"token of GitHub": "ghs_" + strings.Repeat("x1", 18), "fine-grained": "github_pat_" + strings.Repeat("A", 40),
		"JWT": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln", "nkey": "SU" + strings.Repeat("A", 56),
		"key": "-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc\n-----END RSA PRIVATE KEY-----", "address": "https://me:hunter22@example.org/x",
		"AWS": "AKIA" + strings.Repeat("Z", 16), "bearer": "Bearer abcdefghijklmnop1234",
	} {
		for _, shown := range []string{code("x " + secret + " y"), fence("x " + secret + " y")} {
			if !strings.Contains(shown, "***") || strings.Contains(shown, secret) || strings.Contains(shown, "hunter22") || strings.Contains(shown, "MIIE") {
				t.Errorf("%s is shown: %s", name, shown)
			}
			if !strings.Contains(shown, "x ") || !strings.Contains(shown, " y") {
				t.Errorf("%s: what stands around it is gone: %s", name, shown)
			}
		}
	}
}

func TestAReplySpellsOutWhatCannotBeSeen(t *testing.T) {
	s := "a\x1b[31mb\u202ec\u200bd\xffe\rf"
	for _, shown := range []string{code(s), fence(s)} {
		if !strings.Contains(shown, `a\x1b[31mb\u202ec\u200bd\xffe\rf`) {
			t.Errorf("shown %q", shown)
		}
	}
	if got := code("a\nb"); got != "`a\\nb`" {
		t.Errorf("code %q", got)
	}
	if got := fence("a\n\tb"); got != "```\na\n\tb\n```" {
		t.Errorf("fence %q", got)
	}
}

func FuzzCode(f *testing.F) {
	for _, s := range []string{"ordinary", "ghp_0123456789abcdef", "a\x00\u2066b\xc3", "https://a:b@c", "````"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if strings.ContainsFunc(fence(s), func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }) {
			t.Fatalf("%q is shown as %q", s, fence(s))
		}
		if c := code(s); strings.Contains(c, "\n") || outsideCode(c) != "" && c != "(nothing)" {
			t.Fatalf("%q is shown as %q", s, c)
		}
	})
}
