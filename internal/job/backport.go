package job

import "time"

// Backport makes a job one line of a backport: the change is put on the tip of a
// release line, which is Job.Base, and the result is compared with that tip.
// Job.Head stays the head of the pull request; the commit that is measured is
// Outcome.Picked.SHA.
type Backport struct {
	// Group is the same in all jobs of one command: their Wish.Key without the line.
	Group string `json:"group"`
	// Lines are all the lines that were asked for together, in the order in which
	// they are shown; Line is this job's. Both are hostile text.
	Lines  []string `json:"lines"`
	Line   string   `json:"line"`
	Change Change   `json:"change"`
	// Held says that the history of the line holds all of the change's commits: a
	// runner's copy of the line may be too shallow to show it. What was taken back
	// since goes on again; what does not go on was changed since.
	Held bool `json:"held,omitempty"`
}

// Change is what is put on a release line.
type Change struct {
	// Picks are put on the line one after the other.
	Picks []Pick `json:"picks"`
	// Merged says how the pull request came into its base; empty: it has not.
	Merged MergeStyle `json:"merged,omitempty"`
	// Note says in words what the picks are ("the squash commit 1234567").
	Note string `json:"note,omitempty"`
}

// Pick is one commit to put on a line.
type Pick struct {
	SHA string `json:"sha"`
	// Mainline is, of a merge commit, the number of the parent against which it
	// is a change, from 1 (git cherry-pick -m); 0 where it has one parent.
	Mainline int `json:"mainline,omitempty"`
	// Since, where set, makes everything from that commit to SHA one commit with
	// the author, the committer and the message of SHA.
	Since string `json:"since,omitempty"`
}

// MergeStyle is how a pull request was merged.
type MergeStyle string

// The ways in which GitHub merges.
const (
	MergedByCommit MergeStyle = "merge"  // a merge commit
	MergedBySquash MergeStyle = "squash" // one new commit
	MergedByRebase MergeStyle = "rebase" // new commits, one each
)

// MaxPicks is how many commits of a pull request GitHub lists, and so the most
// that can be put on a line.
const MaxPicks = 250

// PickKind sorts how a change went onto a line.
type PickKind string

// The ways in which picking can end. Each is a result, none an error.
const (
	// PickApplies: all of it went on.
	PickApplies PickKind = "applies"
	// PickAppliesInPart: the rest of it was on the line already (Picked.Skipped).
	PickAppliesInPart PickKind = "applies-in-part"
	// PickThere: all of it was on the line already.
	PickThere PickKind = "already-there"
	// PickConflicts: Picked.Commit does not go on (Picked.Files).
	PickConflicts PickKind = "conflicts"
)

// Picked is how a change went onto a line.
type Picked struct {
	Kind PickKind `json:"kind"`
	// SHA is the last commit that was made; empty with PickThere and PickConflicts.
	// It depends on the line's tip and the change alone: the committer and the date
	// are the original's.
	SHA string `json:"sha,omitempty"`
	// PatchID is git's stable patch id of the difference between the tip and SHA.
	PatchID string `json:"patch_id,omitempty"`
	// Skipped are the commits that were there already.
	Skipped []string `json:"skipped,omitempty"`
	// Commit is the one that conflicts, Files where (hostile text), Text what git
	// said of it.
	Commit string   `json:"commit,omitempty"`
	Files  []string `json:"files,omitempty"`
	Text   string   `json:"text,omitempty"`
	// Held says that the history of the line holds Commit, as far as is known.
	Held bool `json:"held,omitempty"`
}

// Accepted is a regression that a person with write permission has accepted. It
// is shown beside the benchmark from then on, and never hides a worse one.
type Accepted struct {
	Repository int64     `json:"repository"`
	Benchmark  string    `json:"benchmark"` // as the report names it; hostile text
	Reason     string    `json:"reason"`    // hostile text
	By         string    `json:"by"`
	ByID       int64     `json:"by_id"`
	PR         int       `json:"pr"` // where it was accepted
	At         time.Time `json:"at"`
	Until      time.Time `json:"until,omitzero"` // zero: for good
	// Worst is the worst improvement that was accepted, a negative fraction: the
	// lower end of the interval that was shown. What lies wholly below it is worse.
	Worst float64 `json:"worst"`
}

// Summary is what a published report found, for those who may not read samples.
type Summary struct {
	Headline string `json:"headline"`
	// Slower are the benchmarks found slower, worst first, at most MaxFindings.
	Slower []Finding `json:"slower,omitempty"`
}

// MaxFindings bounds Summary.Slower.
const MaxFindings = 100

// Finding is a benchmark with what was found.
type Finding struct {
	Benchmark   string     `json:"benchmark"` // hostile text
	Verdict     string     `json:"verdict"`
	Improvement float64    `json:"improvement"` // a fraction
	Interval    [2]float64 `json:"interval"`
}
