package webhook

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/prbench/prbench/internal/job"
)

// payload is what we read of GitHub's payloads. Whatever may be null in one is
// a pointer or has a zero value that we can bear.
type payload struct {
	Action string `json:"action"`
	Issue  *struct {
		Number      int       `json:"number"`
		PullRequest *struct{} `json:"pull_request"`
	} `json:"issue"`
	Comment *struct {
		ID        int64     `json:"id"`
		Body      string    `json:"body"`
		User      *person   `json:"user"`
		CreatedAt time.Time `json:"created_at"`
		UpdatedAt time.Time `json:"updated_at"`
	} `json:"comment"`
	Changes struct {
		Body *struct {
			From string `json:"from"`
		} `json:"body"`
		Base *struct {
			Ref struct {
				From string `json:"from"`
			} `json:"ref"`
		} `json:"base"`
	} `json:"changes"`
	PullRequest *struct {
		Number int    `json:"number"`
		State  string `json:"state"`
		Head   struct {
			SHA string `json:"sha"`
		} `json:"head"`
		Base struct {
			Ref string `json:"ref"`
		} `json:"base"`
		UpdatedAt time.Time `json:"updated_at"`
	} `json:"pull_request"`
	Label *struct {
		Name string `json:"name"`
	} `json:"label"`
	CheckRun *struct {
		ID         int64  `json:"id"`
		ExternalID string `json:"external_id"`
		App        *struct {
			ID int64 `json:"id"`
		} `json:"app"`
	} `json:"check_run"`
	RequestedAction *struct {
		Identifier string `json:"identifier"`
	} `json:"requested_action"`
	Repository *repository `json:"repository"`
	Removed    []struct {
		ID int64 `json:"id"`
	} `json:"repositories_removed"`
	Installation *struct {
		ID int64 `json:"id"`
	} `json:"installation"`
	Sender *person `json:"sender"`
}

type person struct {
	ID    int64  `json:"id"`
	Login string `json:"login"`
	Type  string `json:"type"`
}

func (p *person) reduced() job.Person {
	if p == nil {
		return job.Person{} // an account that is gone has no rights
	}
	return job.Person{ID: p.ID, Login: p.Login, Type: p.Type}
}

type repository struct {
	ID            int64  `json:"id"`
	FullName      string `json:"full_name"`
	Private       bool   `json:"private"`
	DefaultBranch string `json:"default_branch"`
	CloneURL      string `json:"clone_url"`
	HTMLURL       string `json:"html_url"`
}

func (r *repository) reduced() (job.Repository, error) {
	owner, name, ok := strings.Cut(r.FullName, "/")
	if r.ID <= 0 || !ok || owner == "" || name == "" || strings.Contains(name, "/") {
		return job.Repository{}, errors.New("repository: want an id and a full_name \"owner/name\"")
	}
	return job.Repository{ID: r.ID, Owner: owner, Name: name, Private: r.Private,
		DefaultBranch: r.DefaultBranch, CloneURL: r.CloneURL, HTMLURL: r.HTMLURL}, nil
}

// actions lists the events that we act on, each with its actions; an empty list
// means any.
var actions = map[string][]string{
	"issue_comment":             {"created", "edited"},
	"pull_request":              {"labeled", "unlabeled", "opened", "reopened", "synchronize", "edited", "closed"},
	"check_run":                 {"rerequested", "requested_action"},
	"installation":              {"created", "deleted", "suspend", "unsuspend", "new_permissions_accepted"},
	"installation_repositories": {"added", "removed"},
	"repository":                {"renamed", "transferred", "deleted", "archived", "privatized", "publicized"},
}

// Reduce turns a payload into the event that we keep. acts is false for an
// event that has no effect here, which is no error. A payload of an event that
// we act on must name what the event is about.
func Reduce(kind, delivery string, received time.Time, body []byte) (e job.Event, acts bool, err error) {
	wanted, known := actions[kind]
	if !known {
		return job.Event{}, false, nil
	}
	var p payload
	if err := json.Unmarshal(body, &p); err != nil {
		return job.Event{}, false, fmt.Errorf("the payload of %s is not the JSON that was expected: %w", kind, err)
	}
	if !slices.Contains(wanted, p.Action) {
		return job.Event{}, false, nil
	}
	e = job.Event{Version: job.SchemaVersion, Delivery: delivery, Kind: kind, Action: p.Action,
		Received: received.UTC(), Sender: p.Sender.reduced()}
	if p.Installation != nil {
		e.Installation = p.Installation.ID
	}
	if p.Repository != nil {
		if e.Repository, err = p.Repository.reduced(); err != nil {
			return job.Event{}, false, fmt.Errorf("the payload of %s: %w", kind, err)
		}
	}
	switch kind {
	case "issue_comment":
		return p.comment(e)
	case "pull_request":
		return p.pullRequest(e)
	case "check_run":
		return p.checkRun(e)
	case "repository":
		if p.Repository == nil {
			return job.Event{}, false, errors.New("the payload of repository has no repository")
		}
		return e, true, nil
	default:
		return p.installation(e)
	}
}

// installation reads who has the App, and on what.
func (p *payload) installation(e job.Event) (job.Event, bool, error) {
	if e.Installation <= 0 {
		return job.Event{}, false, fmt.Errorf("the payload of %s names no installation", e.Kind)
	}
	for _, r := range p.Removed {
		e.Removed = append(e.Removed, r.ID)
	}
	return e, true, nil
}

func (p *payload) comment(e job.Event) (job.Event, bool, error) {
	if p.Issue == nil || p.Comment == nil || p.Repository == nil {
		return job.Event{}, false, errors.New("the payload of issue_comment has no issue, comment or repository")
	}
	if p.Issue.PullRequest == nil {
		return job.Event{}, false, nil // a plain issue
	}
	e.PR = p.Issue.Number
	e.At = p.Comment.CreatedAt
	if p.Action == "edited" {
		e.At = p.Comment.UpdatedAt
	}
	e.Comment = &job.Comment{ID: p.Comment.ID, Body: p.Comment.Body, Author: p.Comment.User.reduced(),
		Created: p.Comment.CreatedAt, Updated: p.Comment.UpdatedAt}
	if p.Changes.Body != nil {
		e.Comment.OldBody = p.Changes.Body.From
	}
	// Most comments hold no command: they are not worth a durable write.
	if !mayHoldCommand(e.Comment.Body) && !mayHoldCommand(e.Comment.OldBody) {
		return job.Event{}, false, nil
	}
	e.Comment.Body = clip(e.Comment.Body)
	e.Comment.OldBody = clip(e.Comment.OldBody)
	return e, true, nil
}

func (p *payload) pullRequest(e job.Event) (job.Event, bool, error) {
	if p.PullRequest == nil || p.Repository == nil {
		return job.Event{}, false, errors.New("the payload of pull_request has no pull_request or repository")
	}
	if !isSHA(p.PullRequest.Head.SHA) {
		return job.Event{}, false, errors.New("the payload of pull_request: head.sha is no commit")
	}
	e.PR = p.PullRequest.Number
	e.HeadSHA = p.PullRequest.Head.SHA
	e.BaseRef = p.PullRequest.Base.Ref
	e.PRClosed = p.PullRequest.State == "closed"
	e.At = p.PullRequest.UpdatedAt
	if p.Label != nil {
		e.Label = p.Label.Name
	}
	if p.Action == "edited" {
		if p.Changes.Base == nil {
			return job.Event{}, false, nil // its title or text
		}
		e.OldBase = p.Changes.Base.Ref.From
	}
	if (p.Action == "labeled" || p.Action == "unlabeled") && e.Label == "" {
		return job.Event{}, false, fmt.Errorf("the payload of pull_request %s names no label", p.Action)
	}
	return e, true, nil
}

// checkRun reads a button of one of our check runs. Another App's has an external
// id that names no job of this repository.
func (p *payload) checkRun(e job.Event) (job.Event, bool, error) {
	if p.CheckRun == nil || p.Repository == nil {
		return job.Event{}, false, errors.New("the payload of check_run has no check_run or repository")
	}
	id := job.ID(p.CheckRun.ExternalID)
	repoID, pr := id.Pull()
	if pr == 0 || repoID != e.Repository.ID || p.CheckRun.App == nil {
		return job.Event{}, false, nil
	}
	button := job.ButtonRunAgain
	if p.Action == "requested_action" {
		if p.RequestedAction == nil {
			return job.Event{}, false, errors.New("the payload of check_run requested_action names no action")
		}
		button = p.RequestedAction.Identifier
	}
	if button != job.ButtonRunAgain && button != job.ButtonMoreRuns && button != job.ButtonCancel {
		return job.Event{}, false, nil
	}
	e.PR = pr
	e.At = e.Received
	e.CheckRun = &job.CheckRun{ID: p.CheckRun.ID, AppID: p.CheckRun.App.ID, Job: id, Button: button}
	return e, true, nil
}

// maxComment is GitHub's own limit, in bytes as generous as its characters.
const maxComment = 4 * 65536

func clip(s string) string {
	if len(s) > maxComment {
		return strings.ToValidUTF8(s[:maxComment], "")
	}
	return s
}

// isSHA tells a full commit name, SHA-1 or SHA-256, from anything else that
// could become an argument of git.
func isSHA(s string) bool {
	if len(s) != 40 && len(s) != 64 {
		return false
	}
	return !strings.ContainsFunc(s, func(c rune) bool { return (c < '0' || c > '9') && (c < 'a' || c > 'f') })
}
