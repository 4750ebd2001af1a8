package report

import (
	"fmt"
	"strings"

	"github.com/prbench/prbench/internal/job"
)

// How much is said of a line that could not be measured.
const (
	lineColumns = 80 // of its name
	filesNamed  = 5
)

// LineSentence says, as a sentence without its period, why a change was not
// measured on a release line. by is who cancelled it; foreign text is put through
// quote.
func LineSentence(line string, o job.Outcome, by string, quote func(string) string) string {
	line = quote(Short(line, lineColumns))
	switch o.Kind {
	case job.NotPicked:
		if o.Picked != nil && o.Picked.Kind == job.PickThere {
			return "the change is already in " + line
		}
		return "the change conflicts with " + line + conflictText(o.Picked, quote)
	case job.BuildFailed:
		if o.Side == job.Old {
			return "the line " + line + " itself does not build, so that there is nothing to compare with"
		}
		return "on " + line + " the change does not build; the line itself does"
	case job.Measured: // benchmarks that only the change has
		return "the benchmarks that were asked for do not exist on " + line
	case job.NothingMeasured:
		switch {
		case o.Runs == 0:
			return "the benchmarks that were asked for do not exist on " + line
		case o.Side != "":
			return "on " + line + " the benchmarks failed and printed no result"
		}
		return "on " + line + " the benchmarks printed no result that could be read"
	case job.CheckoutFailed:
		return "what is needed of " + line + " could not be fetched"
	case job.Stopped:
		if by != "" {
			by = " by " + quote(Short(by, lineColumns))
		}
		return "on " + line + " it was cancelled" + by + " before enough was measured for a verdict"
	}
	if o.Clash.EachTry() && o.Clash.Side == job.Old {
		return "on " + line + " itself a benchmark found its port taken in every try, which points at its code"
	}
	if o.Clash.EachTry() {
		return "on " + line + " with the change a benchmark found its port taken in every try, which points at the code"
	}
	return "on " + line + " the benchmark machine failed, which says nothing about the change"
}

// conflictText names the commit that does not go on, and where.
func conflictText(p *job.Picked, quote func(string) string) string {
	if p == nil {
		return ""
	}
	text := ""
	if p.Commit != "" {
		text = ": commit " + quote(Visible(shortSHA(p.Commit))) + " does not go on"
		if p.Held {
			text = ": commit " + quote(Visible(shortSHA(p.Commit))) + " is in its history already, and was changed or taken back since"
		}
	}
	if len(p.Files) == 0 {
		return text
	}
	var files []string
	for _, f := range p.Files[:min(len(p.Files), filesNamed)] {
		files = append(files, quote(Short(f, nameColumns)))
	}
	text += " (" + strings.Join(files, ", ")
	if more := len(p.Files) - filesNamed; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text + ")"
}
