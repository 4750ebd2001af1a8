package sandbox

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// lines reads text in pieces of the given size and writes down what came of it.
func lines(text string, limit, piece int) string {
	var b strings.Builder
	l := lineReader{limit: limit,
		line: func(line []byte) { fmt.Fprintf(&b, "%s|", line) },
		long: func(begin []byte, n int64) { fmt.Fprintf(&b, "<%s… %d>|", begin, n) }}
	for len(text) > 0 {
		n := min(piece, len(text))
		l.write([]byte(text[:n]))
		text = text[n:]
	}
	l.finish()
	return b.String()
}

func TestALineOverTheLimitIsLeftOutWholeAndCounted(t *testing.T) {
	for text, want := range map[string]string{
		"":                      "",
		"a\nb\n":                "a|b|",
		"a\n\nb":                "a||b|",
		"exact\nexact":          "exact|exact|",
		"longer\nb\n":           "<longer… 6>|b|",
		"a\nmuch longer":        "a|<much longer… 11>|",
		"longer\nlonger\nb\r\n": "<longer… 6>|<longer… 6>|b\r|",
		"\n":                    "|",
	} {
		for piece := 1; piece <= len(text)+1; piece++ {
			if got := lines(text, 5, piece); got != want {
				t.Errorf("%q in pieces of %d: %s, expected %s", text, piece, got, want)
			}
		}
	}
}

func FuzzLinesAreTheSameHoweverTheyArrive(f *testing.F) {
	f.Add("a\nbb\n\nccc", 2, 3)
	f.Add(strings.Repeat("x", 5000)+"\nrow\n", 10, 4096)
	f.Fuzz(func(t *testing.T, text string, limit, piece int) {
		if limit < 1 || limit > 1<<16 || piece < 1 || len(text) > 1<<16 {
			return
		}
		var want strings.Builder
		for line := range strings.Lines(text) {
			line = strings.TrimSuffix(line, "\n")
			if len(line) > limit {
				fmt.Fprintf(&want, "<%s… %d>|", line[:min(len(line), tailLine)], len(line))
			} else {
				fmt.Fprintf(&want, "%s|", line)
			}
		}
		if got := lines(text, limit, piece); got != want.String() {
			t.Errorf("%q by %d, limit %d:\n%s\nexpected\n%s", text, piece, limit, got, want.String())
		}
	})
}

func TestTheTailKeepsTheEndAndSaysWhatIsMissing(t *testing.T) {
	tl := tail{max: 30}
	for i := range 1000 {
		tl.line(fmt.Appendf(nil, "line %d", i))
	}
	got := string(tl.bytes())
	if !strings.HasPrefix(got, "[") || !strings.Contains(got, " bytes before this left out]\n") || !strings.HasSuffix(got, "line 998\nline 999\n") || len(got) > 80 {
		t.Errorf("tail %q", got)
	}
	tl = tail{max: 1 << 20}
	tl.add(bytes.Repeat([]byte("y"), 2*tailLine), 3_000_000_000)
	tl.line([]byte("the error"))
	want := strings.Repeat("y", tailLine) + fmt.Sprintf("… [%d bytes of this line left out]\nthe error\n", 3_000_000_000-tailLine)
	if got := string(tl.bytes()); got != want {
		t.Errorf("an endless line: %q", got)
	}
}
