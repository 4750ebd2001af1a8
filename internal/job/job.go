// Package job holds the messages that travel between prbench's stages: the
// reduced webhook event, the job with its pinned sides and its spec, the record
// of one finished benchmark process, and the outcome. It holds no behaviour
// beyond what keeps those messages valid, and imports nothing of ours.
package job

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// ID names a job for ever: "<repo-id>.<pr>.<serial>", so that a pull request's
// history is a key prefix of the jobs bucket and three subject tokens of the
// sample stream.
type ID string

// NewID makes the ID of the serial-th job of a pull request.
func NewID(repoID int64, pr, serial int) ID {
	return ID(fmt.Sprintf("%d.%d.%d", repoID, pr, serial))
}

var idPattern = regexp.MustCompile(`^[0-9]{1,19}\.[0-9]{1,10}\.[0-9]{1,10}$`)

// Valid tells whether the ID has its three numbers. IDs come back from runners,
// so they are checked before they become part of a key or a subject.
func (id ID) Valid() bool { return idPattern.MatchString(string(id)) }

// Pull gives the repository's id and the pull request's number; zeros when the
// ID is not valid.
func (id ID) Pull() (repoID int64, pr int) {
	if !id.Valid() {
		return 0, 0
	}
	parts := strings.Split(string(id), ".")
	repoID, err1 := strconv.ParseInt(parts[0], 10, 64)
	pr, err2 := strconv.Atoi(parts[1])
	if err1 != nil || err2 != nil {
		return 0, 0
	}
	return repoID, pr
}

// Serial is the last number of the ID, 0 when the ID is not valid.
func (id ID) Serial() int {
	if !id.Valid() {
		return 0
	}
	n, err := strconv.Atoi(string(id[strings.LastIndexByte(string(id), '.')+1:]))
	if err != nil {
		return 0
	}
	return n
}

// State is where a job stands. It moves forwards only: Ended states never
// change again (see CanBecome).
type State string

// The states of a job.
const (
	Queued     State = "queued"     // waits for a runner
	Running    State = "running"    // a runner holds its lease
	Publishing State = "publishing" // measured or failed; the report is not out yet
	Done       State = "done"       // the report is out
	Failed     State = "failed"     // could not be measured, and that was told
	Cancelled  State = "cancelled"  // a person or a push took it back
)

// Ended tells whether the state is final.
func (s State) Ended() bool { return s == Done || s == Failed || s == Cancelled }

// CanBecome tells whether a record in state s may move to state next. Staying
// is always allowed; Running goes back to Queued when a lease is lost.
func (s State) CanBecome(next State) bool {
	if s == next {
		return true
	}
	switch s {
	case Queued:
		return next != Done
	case Running:
		return true
	case Publishing:
		return next == Done || next == Failed || next == Cancelled
	default:
		return false
	}
}

// Repository identifies a repository by its id, which survives renames and
// transfers; the names are for people and for addresses.
type Repository struct {
	ID            int64  `json:"id"`
	Owner         string `json:"owner"`
	Name          string `json:"name"`
	Private       bool   `json:"private"`
	DefaultBranch string `json:"default_branch,omitempty"`
	CloneURL      string `json:"clone_url"` // https or, on a test forge, http; without credentials
	HTMLURL       string `json:"html_url,omitempty"`
}

// FullName is "owner/name".
func (r Repository) FullName() string { return r.Owner + "/" + r.Name }

// Side is one of the two commits that are compared.
type Side struct {
	SHA string `json:"sha"`
	// Ref is what people call the commit ("main", "fork:branch"); hostile text.
	Ref string `json:"ref,omitempty"`
}

// SideName says which of the two commits a sample belongs to, in the words of
// Node's compare.js.
type SideName string

// The two sides.
const (
	Old SideName = "old" // the base
	New SideName = "new" // the head
)

// Other is the opposite side.
func (s SideName) Other() SideName {
	if s == Old {
		return New
	}
	return Old
}

// WordOn is the side in the words of people. The line is the release line of a
// backport, hostile text; empty where there is none.
func (s SideName) WordOn(line string) string {
	switch {
	case line != "" && s == Old:
		return line
	case line != "":
		return line + " with the change"
	case s == Old:
		return "base"
	}
	return "head"
}

// The is WordOn in the middle of a sentence.
func (s SideName) The(line string) string {
	if line == "" {
		return "the " + s.WordOn("")
	}
	return s.WordOn(line)
}

// Trigger is how a wish came to us.
type Trigger string

// The ways in which a job can be asked for.
const (
	ByLabel   Trigger = "label"
	ByComment Trigger = "comment"
	ByButton  Trigger = "button" // of a check run
)

// Wish is what a person asked for, with the key that makes the same wish
// arriving twice one job.
type Wish struct {
	// Key is "comment:<id>:<command>", "label:<head sha>:<label>" or
	// "button:<check run>:<button>:<delivery>". Of a backport's jobs that is the key
	// of their group; ":line:<line>", or ":main" of the comparison beside them,
	// follows.
	Key       string    `json:"key"`
	Trigger   Trigger   `json:"trigger"`
	Sender    string    `json:"sender"`
	SenderID  int64     `json:"sender_id"`
	CommentID int64     `json:"comment_id,omitempty"`
	Label     string    `json:"label,omitempty"`
	Command   string    `json:"command,omitempty"` // as understood, for the report
	Delivery  string    `json:"delivery"`          // the webhook's GUID, for the logs
	At        time.Time `json:"at"`
}

// Published holds what the publisher has put on GitHub for a job. It is stored
// apart from the facts that it shows: writing it does not raise Job.Revision.
type Published struct {
	Revision  int64 `json:"revision"` // the Job.Revision that GitHub shows
	CommentID int64 `json:"comment_id,omitempty"`
	CheckRun  int64 `json:"check_run,omitempty"`
	Seen      bool  `json:"seen,omitempty"`    // 👀 is on the command
	Rocket    bool  `json:"rocket,omitempty"`  // 🚀 is on the command
	Retries   int   `json:"retries,omitempty"` // failed tries of the present revision
	// Problem is why the last try did not reach GitHub; a permanent one
	// (locked, archived, no permission) stops the retries.
	Problem string `json:"problem,omitempty"`
	// Summary is what the report that is shown found; nil: none is.
	Summary *Summary `json:"summary,omitempty"`
}

// Job is the record of one comparison, the value in the jobs bucket.
type Job struct {
	Version int   `json:"version"` // of this schema
	ID      ID    `json:"id"`
	State   State `json:"state"`
	// Revision counts the changes that people may see. Published.Revision
	// behind it means work for the publisher.
	Revision int64 `json:"revision"`

	Installation int64      `json:"installation"` // 0: the forge client has a plain token
	Repository   Repository `json:"repository"`
	PR           int        `json:"pr"`
	Wish         Wish       `json:"wish"`
	Spec         Spec       `json:"spec"`
	Base         Side       `json:"base"`
	Head         Side       `json:"head"`
	// Explain is set where nothing is to be measured: see Explain.
	Explain *Explain `json:"explain,omitempty"`
	// Backport is set where the change is measured on a release line.
	Backport *Backport `json:"backport,omitempty"`
	// Attempt is the statistical repeat of this comparison, from 1. It is not
	// the Try.
	Attempt int `json:"attempt"`
	// Notes are facts for the report found before measuring ("conflicts with main").
	Notes []string `json:"notes,omitempty"`

	// Try is the number of the execution that holds, or last held, the lease;
	// 0 before the first claim. Messages of another try are stale.
	Try        int       `json:"try"`
	Runner     string    `json:"runner,omitempty"`      // public nkey of the lease's holder
	RunnerName string    `json:"runner_name,omitempty"` // as enrolled
	LeaseEnd   time.Time `json:"lease_end,omitzero"`
	Cancel     *Cancel   `json:"cancel,omitempty"`
	Progress   Progress  `json:"progress,omitzero"`
	// NotBefore is, of a job that waits after a try that failed, when the next one
	// may begin; Runner is whose try that was. Zero: it may begin at once.
	NotBefore time.Time `json:"not_before,omitzero"`
	// LostTries says how each lost try ended, for the report of a fault.
	LostTries []string `json:"lost_tries,omitempty"`
	// Clash is how the last lost try ended, where that was a taken port.
	Clash *Clash `json:"clash,omitempty"`

	Outcome *Outcome `json:"outcome,omitempty"`

	Created  time.Time `json:"created"`
	Started  time.Time `json:"started,omitzero"`
	Finished time.Time `json:"finished,omitzero"`
	// Outdated is set when the pull request got a newer head.
	Outdated bool `json:"outdated,omitempty"`
	// Page is the random part of the address of its result page: 128 bits in hex,
	// a secret of those who may read the pull request.
	Page string `json:"page,omitempty"`
	// Held says why the job waits whatever else happens: it is not handed out and
	// not told of. "" for all that may go on.
	Held string `json:"held,omitempty"`
	// Refresh is raised where the report has to be composed anew for a reason
	// outside of this record, such as a regression that was accepted.
	Refresh int `json:"refresh,omitempty"`

	Published Published `json:"published,omitzero"`
}

// Explain is a printed table that is to be judged as it is. Such a job has no
// commits and needs no runner: it begins in state Publishing, with an Outcome of
// kind Explained, and the publisher answers it. Of its spec only Margin, Alpha and
// Runs (a side, 0 unknown) count.
type Explain struct {
	Table string `json:"table"` // hostile text
}

// SchemaVersion is the Job.Version that this build writes.
const SchemaVersion = 1

// MaxTries is how often a job is handed out before its loss is reported.
const MaxTries = 3

// Cancel says who took a job back. A runner learns of it with its next beat.
type Cancel struct {
	By     string    `json:"by"`
	Reason string    `json:"reason,omitempty"`
	At     time.Time `json:"at"`
}

// Phase is the part of a job that a runner is at.
type Phase string

// The phases of a running job, in order.
const (
	PhaseFetch     Phase = "fetch"
	PhasePick      Phase = "pick" // of a backport: the change is put on the line
	PhaseBuildBase Phase = "build base"
	PhaseBuildHead Phase = "build head"
	PhaseMeasure   Phase = "measure"
	PhaseDeliver   Phase = "deliver"
)

// Progress is how far a running job has come.
type Progress struct {
	Phase Phase `json:"phase,omitempty"`
	Done  int   `json:"done,omitempty"`  // finished process runs
	Total int   `json:"total,omitempty"` // planned process runs, 0 unknown
	// AtMost says that the job may end before Total and Left: its looks decide.
	AtMost bool `json:"at_most,omitempty"`
	// Left is the expected rest, from what has been seen; 0 unknown.
	Left Duration `json:"left,omitzero"`
	// Case is what ran last, hostile text: the CaseNumber-th of Cases, of whose
	// Pairs that are planned up to the look this was the Pair-th. All count from 1;
	// 0 is unknown.
	Case       string `json:"case,omitempty"`
	CaseNumber int    `json:"case_number,omitempty"`
	Cases      int    `json:"cases,omitempty"`
	Pair       int    `json:"pair,omitempty"`
	Pairs      int    `json:"pairs,omitempty"`
	// Look of Looks is measured for, from 1, and LookLeft the expected time until
	// it; zeros where the number of runs is fixed.
	Look     int      `json:"look,omitempty"`
	Looks    int      `json:"looks,omitempty"`
	LookLeft Duration `json:"look_left,omitzero"`
	// Spent is how long a build has taken so far, and PhaseLeft its expected rest,
	// from what the last one took; 0 unknown.
	Spent     Duration  `json:"spent,omitzero"`
	PhaseLeft Duration  `json:"phase_left,omitzero"`
	At        time.Time `json:"at,omitzero"`
}

// Now is the progress some time after it was told: a build tells of its begin
// alone.
func (p Progress) Now(now time.Time) Progress {
	if (p.Phase != PhaseBuildBase && p.Phase != PhaseBuildHead) || p.At.IsZero() || now.Before(p.At) {
		return p
	}
	more := Duration(now.Sub(p.At))
	p.Spent, p.PhaseLeft, p.At = p.Spent+more, max(0, p.PhaseLeft-more), now
	return p
}

// OutcomeKind sorts the ends of an execution.
type OutcomeKind string

// The ways in which an execution can end.
const (
	// Measured: samples are in the stream; some runs may have failed.
	Measured OutcomeKind = "measured"
	// BuildFailed: one side did not build, which is a result.
	BuildFailed OutcomeKind = "build-failed"
	// NothingMeasured: the command ran and printed no benchmark.
	NothingMeasured OutcomeKind = "nothing-measured"
	// CheckoutFailed: a commit is gone, a submodule or LFS object is out of reach.
	CheckoutFailed OutcomeKind = "checkout-failed"
	// Fault: the infrastructure failed; another try may succeed.
	Fault OutcomeKind = "fault"
	// Stopped: cancelled; what was measured is in the stream.
	Stopped OutcomeKind = "stopped"
	// NotPicked: the change is not to be had on the release line, or is there
	// already (Outcome.Picked); nothing ran.
	NotPicked OutcomeKind = "not-picked"
	// Explained: nothing ran; a printed table is to be judged.
	Explained OutcomeKind = "explained"
)

// Outcome is what an execution of a job ended with, as its runner tells it.
type Outcome struct {
	Kind OutcomeKind `json:"kind"`
	// Again says of a Fault that nothing is wrong, the runner was stopped, so that
	// the next try need not wait.
	Again bool `json:"again,omitempty"`
	// Side is the failing side where one side failed.
	Side SideName `json:"side,omitempty"`
	// Text is one plain sentence; Log the last lines of what was printed. Both
	// may hold hostile text.
	Text string `json:"text,omitempty"`
	Log  string `json:"log,omitempty"`
	// Clash is set where a taken port is the fault.
	Clash *Clash `json:"clash,omitempty"`
	// Picked is, in a backport, how the change went onto the line; nil: that was
	// not reached.
	Picked *Picked `json:"picked,omitempty"`
	// Runs is the number of process records in the stream for this try.
	Runs int `json:"runs"`
	// Pairs is the number of pairs planned for each case.
	Pairs int  `json:"pairs,omitempty"`
	Host  Host `json:"host,omitzero"`
	// Notes are facts for the report ("harness changed by the pull request: a.js").
	Notes []string `json:"notes,omitempty"`
	// WallSeconds is the whole measuring phase, ChildSeconds the sum of its processes.
	WallSeconds  float64 `json:"wall_seconds,omitempty"`
	ChildSeconds float64 `json:"child_seconds,omitempty"`
}
