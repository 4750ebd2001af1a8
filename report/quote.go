package report

import (
	"strings"
	"unicode/utf8"
)

// Code puts one line of foreign text into inline code of Markdown, with as many
// backticks as it takes that nothing in it can end the code: nothing in it is
// rendered and nobody is pinged.
func Code(s string) string {
	s = Visible(s)
	if strings.TrimSpace(s) == "" {
		return "` `"
	}
	ticks := strings.Repeat("`", longestRun(s, '`')+1)
	if strings.HasPrefix(s, "`") || strings.HasSuffix(s, "`") || strings.HasPrefix(s, " ") && strings.HasSuffix(s, " ") {
		s = " " + s + " "
	}
	return ticks + s + ticks
}

// Fence puts foreign text of several lines into a fenced block that is longer
// than any run of backticks in it. info is the block's language, ours. The
// result ends with a line end.
func Fence(s, info string) string {
	s = VisibleLog(s)
	ticks := strings.Repeat("`", max(3, longestRun(s, '`')+1))
	if !strings.HasSuffix(s, "\n") {
		s += "\n"
	}
	return ticks + info + "\n" + s + ticks + "\n"
}

func longestRun(s string, b byte) int {
	longest, n := 0, 0
	for i := range len(s) {
		if s[i] == b {
			n++
			longest = max(longest, n)
		} else {
			n = 0
		}
	}
	return longest
}

// shorten cuts the middle out of a text that is wider than most columns. The
// ends of benchmark names tell most: the file in front, the parameters behind.
// Characters that take no column are bounded too: the result has at most four
// bytes a column.
func shorten(s string, most int) string {
	if displayWidth(s) <= most && len(s) <= 4*most {
		return s
	}
	keep := most - 1
	front, back := keep-keep/2, keep/2
	i, w := 0, 0
	for i < len(s) {
		r, n := utf8.DecodeRuneInString(s[i:])
		if w += runeWidth(r); w > front || i+n > 4*front {
			break
		}
		i += n
	}
	j, w := len(s), 0
	for j > i {
		r, n := utf8.DecodeLastRuneInString(s[:j])
		if w += runeWidth(r); w > back || len(s)-j+n > 4*back {
			break
		}
		j -= n
	}
	return s[:i] + "…" + s[j:]
}

// lastLines keeps the end of a log: at most so many lines and bytes, whole
// lines where possible and never a part of a character.
func lastLines(s string, lines, bytes int) (tail string, cut bool) {
	s = strings.TrimRight(s, "\n")
	from := 0
	if len(s) > bytes {
		from, cut = len(s)-bytes, true
		if nl := strings.IndexByte(s[from:], '\n'); nl >= 0 && nl < bytes/2 {
			from += nl + 1
		}
		for from < len(s) && !utf8.RuneStart(s[from]) {
			from++
		}
	}
	s = s[from:]
	for i, n := len(s), 0; i > 0; {
		i = strings.LastIndexByte(s[:i], '\n')
		if i < 0 {
			break
		}
		if n++; n == lines {
			return s[i+1:], true
		}
	}
	return s, cut
}
