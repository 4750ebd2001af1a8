package runner

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/prbench/prbench/internal/job"
)

// withoutPath leaves the runner's own folder out of what goes to other people; the
// log has it.
func withoutPath(o job.Outcome, folder string) job.Outcome {
	o.Text, o.Log, o.Notes = shorten(o.Text, folder), shorten(o.Log, folder), shortened(o.Notes, folder)
	if o.Picked != nil {
		p := *o.Picked
		p.Text, p.Files = shorten(p.Text, folder), shortened(p.Files, folder)
		o.Picked = &p
	}
	if o.Clash != nil {
		c := *o.Clash
		c.Case = shorten(c.Case, folder)
		o.Clash = &c
	}
	return o
}

// runWithoutPath does so with what a run has printed.
func runWithoutPath(r job.Run, folder string) job.Run {
	r.Log, r.Quoted = shorten(r.Log, folder), shortened(r.Quoted, folder)
	return r
}

func shortened(texts []string, folder string) []string {
	texts = slices.Clone(texts)
	for i, t := range texts {
		texts[i] = shorten(t, folder)
	}
	return texts
}

// shorten writes "…" for the folder, where a text has it as a path's beginning: not
// within a longer name.
func shorten(text, folder string) string {
	var b strings.Builder
	kept := 0 // b holds the text up to here
	for from := 0; ; {
		i := strings.Index(text[from:], folder)
		if i < 0 {
			break
		}
		begin := from + i
		from = begin + len(folder)
		before, _ := utf8.DecodeLastRuneInString(text[:begin])
		after, _ := utf8.DecodeRuneInString(strings.TrimLeft(text[from:], ".")) // a sentence may end here
		if inName(before) || inName(after) {
			continue
		}
		b.WriteString(text[kept:begin])
		b.WriteString("…")
		kept = from
	}
	if kept == 0 {
		return text
	}
	return b.String() + text[kept:]
}

// inName tells whether a character is taken to be one of a file's name.
func inName(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r) || strings.ContainsRune("_-.+~@", r)
}
