package forgetest

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
)

// User is an account: a person, an organisation or an App's bot.
type User struct {
	ID    int64
	Login string
	Type  string // "User", "Organization", "Bot"
}

// Repo is a repository. What may change is read and written through Server.
type Repo struct {
	ID    int64
	Owner *User

	gitMu sync.Mutex // held while refs change
	dir   string     // of the bare repository

	name          string
	private       bool
	archived      bool
	deleted       bool
	defaultBranch string
	created       time.Time
	parent        *Repo // of a fork
	roles         map[int64]string
	labels        map[string]*label // by lower-case name
	pulls         []*Pull           // pulls[i] has the number i+1
	statuses      []*status
	checkRuns     []*checkRun
}

// fullName is owner/name; the caller holds the server's mu.
func (r *Repo) fullName() string { return r.Owner.Login + "/" + r.name }

// network is the repository at the root of the forks.
func (r *Repo) network() *Repo {
	for r.parent != nil {
		r = r.parent
	}
	return r
}

// Pull is a pull request.
type Pull struct {
	ID     int64
	Number int
	Repo   *Repo

	issueID          int64
	title, body      string
	author           *User
	open             bool
	merged           bool
	draft            bool
	locked           bool
	headRepo         *Repo // its deleted field says whether it still exists
	formerHeads      []string
	headRef, headSHA string
	headOwner        *User
	baseRef, baseSHA string
	mergeable        *bool
	mergeCommit      string // of the trial merge; once merged, what the merge ended in
	mergedBy         *User
	mergeableUnknown int // so many reads still answer null
	labels           []*label
	events           []issueEvent // of labels
	comments         []*comment
	reactions        []*reaction
	created, updated time.Time
	closed           time.Time
	stat             diffStat
	statOf           string // the range that stat was counted for
}

type label struct {
	id    int64
	name  string
	color string
}

type comment struct {
	id               int64
	pull             *Pull
	author           *User
	app              *App // through which it was written
	body             string
	edits            []string // former bodies, oldest first
	created, updated time.Time
	deleted          bool
	reactions        []*reaction
}

type reaction struct {
	id      int64
	user    *User
	content string
	created time.Time
}

type status struct {
	id                               int64
	sha, state, context, description string
	targetURL                        string
	creator                          *User
	created                          time.Time
}

type checkRun struct {
	id, suite             int64
	repo                  *Repo
	app                   *App
	name, sha, externalID string
	detailsURL            string
	status, conclusion    string
	started, completed    time.Time
	title, summary, text  *string
	annotations           []map[string]any
	actions               []map[string]any
	updates               int
}

// App is a GitHub App.
type App struct {
	ID         int64
	Slug       string
	PrivateKey []byte // PEM, PKCS#1

	name, site  string // shown; by default the slug and the server's root
	private     bool   // only its owner may install it
	owner       *User
	bot         *User
	key         publicKey
	permissions map[string]string
	events      []string
	hookID      int64
	hookURL     string
	hookSecret  string
	oauthSecret string
	callbacks   []string // where people may be sent back after they signed in
	created     time.Time
}

// Installation is an App's installation on an account.
type Installation struct {
	ID      int64
	App     *App
	Account *User

	all       bool // every repository of the account
	repos     map[int64]bool
	suspended time.Time
	deleted   bool
	created   time.Time
}

// covers reports whether the installation may see the repository.
func (i *Installation) covers(r *Repo) bool {
	return !i.deleted && r.Owner == i.Account && !r.deleted && (i.all || i.repos[r.ID])
}

// token is an installation token, or a person's when user is set.
type token struct {
	value       string
	user        *User
	via         *App // through which a person's token came; nil: a personal one
	inst        *Installation
	repos       map[int64]bool // nil: all that the installation covers
	permissions map[string]string
	expires     time.Time
	revoked     bool
}

var levels = map[string]int{"": 0, "none": 0, "read": 1, "write": 2, "admin": 3}

// roles in GitHub's order, with what user.permissions shows for each.
var roleRank = map[string]int{"none": 0, "read": 1, "triage": 2, "write": 3, "maintain": 4, "admin": 5}

var errUnknownUser = errors.New("no such user")

// user finds an account; the caller holds mu.
func (s *Server) user(login string) (*User, error) {
	u := s.users[strings.ToLower(login)]
	if u == nil {
		return nil, fmt.Errorf("%w: %q", errUnknownUser, login)
	}
	return u, nil
}

// role is what a person may do in a repository; the caller holds mu.
func (r *Repo) role(u *User) string {
	switch {
	case u == nil:
		return "none"
	case u == r.Owner:
		return "admin"
	case r.roles[u.ID] != "":
		return r.roles[u.ID]
	case r.private:
		return "none"
	}
	return "read"
}

func (p *Pull) hasLabel(name string) bool {
	for _, l := range p.labels {
		if strings.EqualFold(l.name, name) {
			return true
		}
	}
	return false
}
