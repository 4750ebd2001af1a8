package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/prbench/prbench/internal/job"
)

// ProgressTitle says in a line how far a running job is, such as "Measure: 34 of
// at most 400 runs, look 2 of 6 in about 40 s, about 3 min left at most". The
// terminal, the check run and the page all have it from here.
func ProgressTitle(p job.Progress) string {
	if p.Phase == "" {
		return "Starting"
	}
	phase := []rune(Short(string(p.Phase), longestPhase))
	title := strings.ToUpper(string(phase[:1])) + string(phase[1:])
	if far := ProgressLine(p, "runs"); far != "" {
		title += ": " + far
	}
	return title
}

// longestPhase bounds the name of a phase, in columns. A runner sends it.
const longestPhase = 40

// ProgressLine is the part of ProgressTitle behind the phase, of counted things
// that are called what; "" where nothing is known.
func ProgressLine(p job.Progress, what string) string {
	var parts []string
	if n := ProgressCount(p, what); n != "" {
		parts = append(parts, n)
	}
	return strings.Join(append(parts, progressTimes(p)...), ", ")
}

// ProgressCount is the part of ProgressLine that counts.
func ProgressCount(p job.Progress, what string) string {
	if p.Total <= 0 {
		return ""
	}
	most := ""
	if p.AtMost { // planned looks may cut it short
		most = "at most "
	}
	return fmt.Sprintf("%d of %s%d %s", ProgressDone(p), most, p.Total, what)
}

// ProgressDone is what a runner says it has done, within what is to be done.
func ProgressDone(p job.Progress) int { return max(0, min(p.Done, p.Total)) }

// ProgressRest is the part of ProgressLine that does not count.
func ProgressRest(p job.Progress) string { return strings.Join(progressTimes(p), ", ") }

func progressTimes(p job.Progress) []string {
	var parts []string
	if p.Look > 0 && p.Look <= p.Looks {
		look := fmt.Sprintf("look %d of %d", p.Look, p.Looks)
		if p.LookLeft > 0 && p.Look < p.Looks {
			look += " in about " + RoundTime(p.LookLeft.Std())
		}
		parts = append(parts, look)
	}
	if p.Spent > 0 {
		parts = append(parts, RoundTime(p.Spent.Std())+" so far")
	}
	if p.PhaseLeft > 0 {
		parts = append(parts, "about "+RoundTime(p.PhaseLeft.Std())+" left of it, as the last one took")
	}
	if p.Left > 0 {
		left := "about " + RoundTime(p.Left.Std()) + " left"
		if p.AtMost {
			left += " at most"
		}
		parts = append(parts, left)
	}
	return parts
}

// ProgressPlace says at which case a running job is and how far that is, such as
// "process: a.js, case 3 of 12, pair 5 of 8"; "" where that is not known. The
// name is foreign text and goes through quote.
func ProgressPlace(p job.Progress, quote func(string) string) string {
	if p.Case == "" {
		return ""
	}
	text := quote(Short(p.Case, nameColumns))
	if p.CaseNumber > 0 && p.CaseNumber <= p.Cases && p.Cases > 1 {
		text += fmt.Sprintf(", case %d of %d", p.CaseNumber, p.Cases)
	}
	if p.Pair > 0 && p.Pair <= p.Pairs {
		text += fmt.Sprintf(", pair %d of %d", p.Pair, p.Pairs)
	}
	return text
}

// RoundTime is a time as people say it: seconds below a minute, else minutes.
func RoundTime(d time.Duration) string {
	if s := d.Round(time.Second); s < time.Minute {
		return fmt.Sprintf("%d s", max(1, int(s.Seconds())))
	}
	return fmt.Sprintf("%d min", int((d + 30*time.Second).Minutes()))
}
