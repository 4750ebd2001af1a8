package report

import (
	"fmt"

	"github.com/prbench/prbench/internal/job"
)

func lossKind(r job.Run) LossKind {
	switch {
	case r.TimedOut:
		return Timeout
	case r.Limit != "":
		return Limit
	default:
		return Crash
	}
}

// lossText says how a process that ended badly did so.
func lossText(r job.Run) string {
	switch {
	case r.TimedOut:
		return fmt.Sprintf("timed out after %.0f s", r.Wall)
	case r.Limit != "":
		return "hit its limit: " + r.Limit
	case r.Signal != "":
		return "signal: " + r.Signal
	default:
		return fmt.Sprintf("exit %d", r.Exit)
	}
}

// lossSentence says how many processes of a case ended badly, and how.
func lossSentence(l Loss) string {
	where := ""
	if l.Case != "" {
		where = " of " + shorten(Visible(l.Case), nameColumns)
	}
	how := shorten(Visible(l.Text), nameColumns)
	if l.Count > 1 {
		how = "the first: " + how
	}
	return fmt.Sprintf("%s%s failed on the %s side (%s)", plural(l.Count, "run", "runs"), where, l.Side, how)
}
