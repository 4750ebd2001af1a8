package webhook

import (
	"fmt"
	"strings"

	"github.com/prbench/prbench/internal/hostile"
)

// longestBlock is how many bytes of hostile text a reply shows as a block.
const longestBlock = 8 << 10

// code shows hostile text as code: one line, bounded, in backticks that it
// cannot close.
func code(s string) string {
	s = hostile.Visible(s)
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

// fence shows hostile text as a block that it cannot close, up to a length: the
// rest is named by how much it is.
func fence(s string) string {
	s = hostile.VisibleLines(s)
	if rest := len(s) - longestBlock; rest > 0 {
		s = fmt.Sprintf("%s\n… and %d bytes more", strings.ToValidUTF8(s[:longestBlock], ""), rest)
	}
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
