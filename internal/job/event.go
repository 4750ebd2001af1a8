package job

import "time"

// Event is a webhook delivery reduced to what the product acts on. It is a
// hint: the state that it speaks of is fetched again before anything is done.
type Event struct {
	Version  int       `json:"version"`
	Delivery string    `json:"delivery"` // the GUID
	Kind     string    `json:"kind"`     // X-GitHub-Event
	Action   string    `json:"action,omitempty"`
	Received time.Time `json:"received"`
	// At is GitHub's own time of what happened, where the payload tells it: a
	// comment's creation, a pull request's last update.
	At time.Time `json:"at,omitzero"`

	Installation int64      `json:"installation,omitempty"`
	Repository   Repository `json:"repository,omitzero"`
	Sender       Person     `json:"sender,omitzero"`

	// Removed are the ids of the repositories that the App was taken off.
	Removed []int64 `json:"removed,omitempty"`

	PR       int    `json:"pr,omitempty"`
	HeadSHA  string `json:"head_sha,omitempty"`
	BaseRef  string `json:"base_ref,omitempty"`
	Label    string `json:"label,omitempty"`
	PRClosed bool   `json:"pr_closed,omitempty"`

	Comment  *Comment  `json:"comment,omitempty"`
	CheckRun *CheckRun `json:"check_run,omitempty"`
	// OldBase is the branch that a pull request went to before its base was changed.
	OldBase string `json:"old_base,omitempty"`
}

// Person is a GitHub account.
type Person struct {
	ID    int64  `json:"id"`
	Login string `json:"login"`
	Type  string `json:"type,omitempty"` // "User", "Bot", "Organization"
}

// Comment is the comment of an issue_comment event.
type Comment struct {
	ID      int64     `json:"id"`
	Body    string    `json:"body"`
	OldBody string    `json:"old_body,omitempty"` // before an edit
	Author  Person    `json:"author"`
	Created time.Time `json:"created"`
	Updated time.Time `json:"updated,omitzero"`
}

// CheckRun is the check run of a check_run event, with the button that was pressed.
type CheckRun struct {
	ID    int64 `json:"id"`
	AppID int64 `json:"app_id"` // whose check run it is
	Job   ID    `json:"job"`    // its external id
	// Button is what was pressed: ButtonRunAgain for GitHub's own re-run too.
	Button string `json:"button"`
}

// The buttons of a check run, by the identifiers that GitHub gives back.
const (
	ButtonRunAgain = "run-again"
	ButtonMoreRuns = "more-runs"
	ButtonCancel   = "cancel"
)
