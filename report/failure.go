package report

import (
	"fmt"
	"strings"

	"github.com/prbench/prbench/internal/job"
)

// failureLogBytes and failureLogLines bound the log tail of a failure.
const (
	failureLogBytes = 12_000
	failureLogLines = 80
)

// FailureHeadline is one plain line on why there is no comparison.
func FailureHeadline(a About, o job.Outcome) string { return failureHeadline(a, o, Visible) }

// failureHeadline puts foreign text through quote.
func failureHeadline(a About, o job.Outcome, quote func(string) string) string {
	if a.Backport != nil {
		by := ""
		if a.Stopped != nil {
			by = a.Stopped.By
		}
		return capital(LineSentence(a.Backport.Line, o, by, quote))
	}
	switch o.Kind {
	case job.BuildFailed:
		return "The " + outcomeSides(o.Side) + " does not build"
	case job.NothingMeasured:
		return "Nothing was measured: the command printed no benchmark"
	case job.CheckoutFailed:
		return "The code could not be fetched"
	case job.Stopped:
		return "Cancelled before anything could be judged"
	case job.Fault:
		if o.Clash.EachTry() {
			return "The " + outcomeSides(o.Clash.Side) + " found its port taken in every try"
		}
		return "The benchmark machine failed, not the pull request"
	}
	return "There is no comparison"
}

// Failure writes the Markdown of a job that ended without a comparison: one
// plain sentence first, then what is known. It is never longer than MaxMarkdown.
func Failure(a About, o job.Outcome) string {
	var b strings.Builder
	b.WriteString("### " + failureHeadline(a, o, codeUnsafe) + "\n\n")
	if a.Backport == nil || o.Kind == job.Fault {
		b.WriteString(failureSentence(a, o) + "\n\n")
	}
	r := Report{About: a}
	b.WriteString(r.header())
	b.WriteString(outdated(a))
	if o.Text != "" {
		b.WriteString(Fence(shortenLines(o.Text), "text") + "\n")
	}
	if tail, cut := lastLines(VisibleLog(o.Log), failureLogLines, failureLogBytes); tail != "" {
		b.WriteString("What it printed:\n\n")
		if cut {
			b.WriteString("(the last lines)\n\n")
		}
		b.WriteString(Fence(tail, "text") + "\n")
	}
	b.WriteString(lostTries(a))
	b.WriteString(r.otherWarnings(warningBytes))
	b.WriteString(r.recipe(0))
	b.WriteString(details("The machine", hostLines(withHost(a, o))))
	if a.Page != "" {
		fmt.Fprintf(&b, "[The whole report](%s)\n", a.Page)
	}
	return b.String()
}

// failureSentence says what happened and what a person can do about it.
func failureSentence(a About, o job.Outcome) string {
	switch o.Kind {
	case job.BuildFailed:
		if o.Side == job.New {
			return fmt.Sprintf("The pull request's commit %s failed to build with the configured command, so no benchmark ran. The base was not at fault.", Code(shortSHA(a.Head.SHA)))
		}
		return fmt.Sprintf("The commit that the pull request is compared with, %s, failed to build with the configured command, so there is nothing to compare. The pull request is not at fault.", Code(shortSHA(a.Base.SHA)))
	case job.NothingMeasured:
		return "The benchmark command ran and printed no result that could be read. Look at what it printed, at the filter, and at the suite's format and output in the configuration."
	case job.CheckoutFailed:
		where := ""
		if o.Side != "" {
			where = " of the " + outcomeSides(o.Side)
		}
		return "The commit" + where + ", or something that it needs (a submodule, a large file), is gone or out of reach."
	case job.Stopped:
		by, why := "", ""
		if a.Stopped != nil && a.Stopped.By != "" {
			by = " by " + Code(a.Stopped.By)
		}
		if a.Stopped != nil && a.Stopped.Reason != "" {
			why = " Reason: " + Code(shorten(Visible(a.Stopped.Reason), 300)) + "."
		}
		return "The run was cancelled" + by + " before enough was measured for a verdict." + why
	case job.Fault:
		if o.Clash.EachTry() {
			return clashSentence(a, *o.Clash)
		}
		return "This says nothing about the change. Ask again with `/benchmark rerun`; if it happens again, the operators of the machine have to look at it."
	}
	return "The run ended without a result."
}

// clashSentence is said where the same case on the same side found its port taken
// in every try: each run has a network of its own, so that nothing of the
// machine's can be in the way every time.
func clashSentence(a About, c job.Clash) string {
	line := ""
	if a.Backport != nil {
		line = a.Backport.Line
	}
	text := fmt.Sprintf("In each of %d tries the process of %s on %s ended because its port was taken. "+
		"Every run has a network of its own, in which nothing but this process and what it starts can listen. That points at the code itself, such as a port that it opens twice",
		c.Tries, Code(shorten(Visible(c.Case), nameColumns)), codeUnsafe(c.Side.The(line)))
	if c.Side == job.New {
		return text + "."
	}
	return text + ". The pull request is not at fault where it has not touched that code."
}

// lostTries lists how the tries ended that the infrastructure lost.
func lostTries(a About) string {
	if len(a.LostTries) == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s lost:\n", plural(len(a.LostTries), "try was", "tries were"))
	for _, t := range a.LostTries[:min(len(a.LostTries), 10)] {
		fmt.Fprintf(&b, "- %s\n", Code(shorten(Visible(t), 300)))
	}
	return b.String() + "\n"
}

func withHost(a About, o job.Outcome) About {
	if a.Host.Name == "" && a.Host.CPU == "" {
		a.Host = o.Host
	}
	return a
}

// shortenLines bounds a sentence that comes from elsewhere.
func shortenLines(s string) string {
	tail, _ := lastLines(VisibleLog(s), 10, 2_000)
	return tail
}
