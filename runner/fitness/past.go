package fitness

import (
	"fmt"
	"slices"
	"strings"
)

// Past is what a Watch has seen up to a moment. It is kept beside what was
// measured until then, so that a job that another process goes on with is judged
// as the one job that it is.
type Past struct {
	Settings []Check // when the job began
	Found    []Check // what bars a verdict of safety, and what is worth a word
}

// Past tells what was seen so far. It reads what End reads.
func (w *Watch) Past() Past {
	found := slices.DeleteFunc(w.End(), func(c Check) bool { return c.State != Unfit && c.State != Warn })
	return Past{slices.Clone(w.before), found}
}

// Follow makes the watch, whose job goes on, know what was seen before. From then
// on a setting has changed where it is not as it was when the job first began.
// The error says that the past is not of such a watch.
func (w *Watch) Follow(p Past) error {
	same := func(a, b Check) bool { return a.Name == b.Name }
	if !slices.EqualFunc(p.Settings, w.before, same) {
		return fmt.Errorf("go on with what was seen of the machine: want its %d settings, got %d", len(w.before), len(p.Settings))
	}
	w.before = slices.Clone(p.Settings)
	for _, c := range p.Found {
		c.Text = strings.TrimPrefix(c.Text, formerly)
		w.former = append(w.former, c)
	}
	return nil
}

// formerly begins the words about what was seen before a job was gone on with.
const formerly = "before the runner was stopped: "

// withFormer adds what was seen before and is not said anyway.
func (w *Watch) withFormer(checks []Check) []Check {
	for _, c := range w.former {
		if slices.ContainsFunc(checks, func(now Check) bool { return now.Text == c.Text && now.State == c.State }) {
			continue
		}
		c.Text = formerly + c.Text
		checks = append(checks, c)
	}
	return checks
}
