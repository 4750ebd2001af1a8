package queue

import (
	"regexp"
	"slices"
	"time"

	"github.com/prbench/prbench/internal/job"
)

// What a runner says about a job goes into the job's record, which is rewritten
// with each beat and must fit a message: texts are cut to these many bytes, and
// lists to as many entries.
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
	p.Left = min(max(p.Left, 0), maxLeft)
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
	l = slices.Clone(l[:min(len(l), maxNotes)])
	for i := range l {
		l[i] = head(l[i], maxText)
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
