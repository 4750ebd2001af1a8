package queue

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/prbench/prbench/internal/job"
)

// What a runner says about a job goes into the job's record, which is rewritten
// with each beat and must fit a message: texts are cut to these many bytes, and
// lists to as many entries. A runner cuts in the same way before it tells its
// outcome, which would else be too large to be sent.
const (
	maxName  = 256
	maxText  = 4 << 10
	maxLog   = 64 << 10
	maxNotes = 50
)

// Bounds of what a runner says of its progress: serve calculates with it.
const (
	maxProcesses = 100_000_000
	maxLeft      = job.Duration(30 * 24 * time.Hour)
)

func cleanProgress(p job.Progress) job.Progress {
	if !knownPhase(p.Phase) {
		p.Phase = ""
	}
	p.Case = head(p.Case, maxName)
	p.Total = min(max(p.Total, 0), maxProcesses)
	most := p.Total
	if most == 0 {
		most = maxProcesses // the total is not known
	}
	p.Done = min(max(p.Done, 0), most)
	for _, d := range []*job.Duration{&p.Left, &p.LookLeft, &p.Spent, &p.PhaseLeft} {
		*d = min(max(*d, 0), maxLeft)
	}
	for _, n := range []*int{&p.CaseNumber, &p.Cases, &p.Pair, &p.Pairs, &p.Look, &p.Looks} {
		*n = min(max(*n, 0), maxProcesses)
	}
	return p
}

func knownPhase(p job.Phase) bool {
	switch p {
	case job.PhaseFetch, job.PhasePick, job.PhaseBuildBase, job.PhaseBuildHead, job.PhaseMeasure, job.PhaseDeliver:
		return true
	}
	return false
}

func cleanOutcome(o job.Outcome) job.Outcome {
	o.Side = job.SideName(head(string(o.Side), maxName))
	o.Text = head(o.Text, maxText)
	o.Log = tail(o.Log, maxLog)
	o.Notes = cleanList(o.Notes)
	if o.Clash != nil {
		o.Clash = &job.Clash{Case: head(o.Clash.Case, maxName), Side: job.SideName(head(string(o.Clash.Side), maxName))}
	}
	h := &o.Host
	for _, s := range []*string{&h.Name, &h.CPU, &h.Kernel, &h.OS, &h.Sandbox} {
		*s = head(*s, maxName)
	}
	h.Setup = head(h.Setup, maxText)
	h.Unfit, h.Warn = cleanList(h.Unfit), cleanList(h.Warn)
	if h.Calibration != nil {
		h.Calibration = cleanCalibration(*h.Calibration)
	}
	if o.Picked != nil {
		o.Picked = cleanPicked(*o.Picked)
	}
	// Written out, a byte of a text may become six.
	for most := maxText; most > 32; most /= 2 {
		if data, err := json.Marshal(o); err != nil || len(data) <= mostOutcome {
			break
		}
		o = cutOutcome(o, most)
	}
	return o
}

// mostOutcome is the size of an outcome as it is written, with room for the rest of
// a message and of a job's record.
const mostOutcome = 512 << 10

// cutOutcome cuts the texts of an outcome to so many bytes, and its log to eight
// times as many.
func cutOutcome(o job.Outcome, most int) job.Outcome {
	cut := func(l []string) []string {
		l = slices.Clone(l)
		for i := range l {
			l[i] = head(l[i], most)
		}
		return l
	}
	o.Text, o.Log, o.Notes = head(o.Text, most), tail(o.Log, 8*most), cut(o.Notes)
	o.Host.Unfit, o.Host.Warn = cut(o.Host.Unfit), cut(o.Host.Warn)
	if o.Picked != nil {
		p := *o.Picked
		p.Text, p.Files = head(p.Text, most), cut(p.Files)
		o.Picked = &p
	}
	return o
}

// cleanPicked bounds what a runner says of a change on a release line. What
// stands for an id and is none is left out.
func cleanPicked(p job.Picked) *job.Picked {
	switch p.Kind {
	case job.PickApplies, job.PickAppliesInPart, job.PickThere, job.PickConflicts:
	default:
		p.Kind = ""
	}
	for _, s := range []*string{&p.SHA, &p.PatchID, &p.Commit} {
		if !hexID.MatchString(*s) {
			*s = ""
		}
	}
	p.Skipped = slices.DeleteFunc(slices.Clone(p.Skipped[:min(len(p.Skipped), job.MaxPicks)]), func(s string) bool { return !hexID.MatchString(s) })
	p.Files = cleanList(p.Files)
	p.Text = head(p.Text, maxText)
	return &p
}

var hexID = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)

func cleanList(l []string) []string {
	more := 0
	if len(l) > maxNotes {
		more = len(l) - maxNotes + 1 // the last place says so
	}
	l = slices.Clone(l[:len(l)-more])
	for i := range l {
		l[i] = head(l[i], maxText)
	}
	if more > 0 {
		l = append(l, fmt.Sprintf("%d more were left out", more))
	}
	return l
}

func knownOutcome(k job.OutcomeKind) bool {
	switch k {
	case job.Measured, job.BuildFailed, job.NothingMeasured, job.CheckoutFailed, job.Fault, job.Stopped, job.NotPicked:
		return true
	}
	return false
}
