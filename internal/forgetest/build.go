package forgetest

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
)

var (
	loginShape = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9-]*$`)
	nameShape  = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)
)

// AddUser adds a person. A login that is there is given back as it is.
func (s *Server) AddUser(login string) (*User, error) { return s.addAccount(login, "User") }

// AddOrg adds an organisation.
func (s *Server) AddOrg(login string) (*User, error) { return s.addAccount(login, "Organization") }

func (s *Server) addAccount(login, kind string) (*User, error) {
	if !loginShape.MatchString(login) {
		return nil, fmt.Errorf("login %q: want letters, digits and dashes", login)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.account(login, kind), nil
}

// account finds or adds an account; the caller holds mu.
func (s *Server) account(login, kind string) *User {
	if u := s.users[strings.ToLower(login)]; u != nil {
		return u
	}
	u := &User{ID: s.id(), Login: login, Type: kind}
	s.users[strings.ToLower(login)] = u
	return u
}

// AddUserToken gives a personal access token of a person, with all that the
// person's roles allow.
func (s *Server) AddUserToken(login string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u, err := s.user(login)
	if err != nil {
		return "", err
	}
	t := &token{value: "ghp_" + randomText(36), user: u}
	s.tokens[t.value] = t
	return t.value, nil
}

// RepoSpec says what a new repository holds.
type RepoSpec struct {
	Private bool
	// DefaultBranch is "main" when empty, or the source's own.
	DefaultBranch string
	// Source is an existing repository (its work tree or bare folder) of which
	// all branches and tags are taken.
	Source string
	// Build writes and commits the content on the default branch.
	Build func(*Work) error
}

// AddRepo adds the repository owner/name. An owner that is not known becomes
// an organisation.
func (s *Server) AddRepo(full string, spec RepoSpec) (*Repo, error) {
	owner, name, ok := strings.Cut(full, "/")
	if !ok || !loginShape.MatchString(owner) || !nameShape.MatchString(name) {
		return nil, fmt.Errorf("repository %q: want owner/name", full)
	}
	r := &Repo{name: name, private: spec.Private, defaultBranch: spec.DefaultBranch}
	if err := s.register(r, owner); err != nil {
		return nil, err
	}
	if err := fill(r, spec); err != nil {
		s.mu.Lock()
		delete(s.repoNames, strings.ToLower(full))
		delete(s.repos, r.ID)
		s.mu.Unlock()
		return nil, fmt.Errorf("add repository %s: %w", full, err)
	}
	return r, nil
}

// register gives a repository its id, owner and folder.
func (s *Server) register(r *Repo, owner string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.Owner = s.account(owner, "Organization")
	key := strings.ToLower(r.fullName())
	if s.repoNames[key] != nil {
		return fmt.Errorf("repository %s: is there already", r.fullName())
	}
	r.ID, r.created = s.id(), s.stamp()
	r.roles, r.labels = map[int64]string{}, map[string]*label{}
	r.dir = filepath.Join(s.dir, fmt.Sprintf("%d.git", r.ID))
	s.repos[r.ID], s.repoNames[key] = r, r
	return nil
}

func fill(r *Repo, spec RepoSpec) error {
	ctx := context.Background()
	if spec.Source != "" {
		source, err := filepath.Abs(spec.Source)
		if err != nil {
			return err
		}
		if _, err := runGit(ctx, "", "clone", "-q", "--bare", source, r.dir); err != nil {
			return err
		}
		if r.defaultBranch == "" {
			if r.defaultBranch, err = r.git("symbolic-ref", "--short", "HEAD"); err != nil {
				return err
			}
		}
		if _, err := r.git("remote", "remove", "origin"); err != nil {
			return err
		}
	} else {
		if r.defaultBranch == "" {
			r.defaultBranch = "main"
		}
		if _, err := runGit(ctx, "", "init", "-q", "--bare", "-b", r.defaultBranch, r.dir); err != nil {
			return err
		}
	}
	if err := r.configure(); err != nil {
		return err
	}
	if _, err := r.git("symbolic-ref", "HEAD", "refs/heads/"+r.defaultBranch); err != nil {
		return err
	}
	if spec.Build == nil {
		return nil
	}
	return r.work(r.defaultBranch, r.Owner.Login, spec.Build)
}

// Fork forks a repository into a person's account, under the same name.
func (s *Server) Fork(r *Repo, login string) (*Repo, error) {
	s.mu.Lock()
	if _, err := s.user(login); err != nil {
		s.mu.Unlock()
		return nil, err
	}
	f := &Repo{name: r.name, private: r.private, defaultBranch: r.defaultBranch, parent: r}
	s.mu.Unlock()
	if err := s.register(f, login); err != nil {
		return nil, err
	}
	if _, err := runGit(context.Background(), "", "clone", "-q", "--bare", "--shared", r.dir, f.dir); err != nil {
		return nil, err
	}
	if _, err := f.git("remote", "remove", "origin"); err != nil {
		return nil, err
	}
	return f, f.configure()
}

// Grant gives a person a role in a repository: none, read, triage, write,
// maintain or admin.
func (s *Server) Grant(r *Repo, login, role string) error {
	if _, ok := roleRank[role]; !ok {
		return fmt.Errorf("role %q: want none, read, triage, write, maintain or admin", role)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	u, err := s.user(login)
	if err != nil {
		return err
	}
	r.roles[u.ID] = role
	return nil
}

// AppSpec describes a GitHub App.
type AppSpec struct {
	// Slug is the App's name in addresses; its bot's login is slug[bot].
	Slug string
	// Owner's account is made if it is new; the slug's own when empty.
	Owner string
	// Permissions default to what prbench asks for.
	Permissions map[string]string
	// Events default to those that prbench uses.
	Events []string
	// WebhookURL receives the webhooks; none are sent while it is empty.
	WebhookURL    string
	WebhookSecret string
}

// AddApp registers a GitHub App with a key that no other App of the server has.
func (s *Server) AddApp(spec AppSpec) (*App, error) {
	if !loginShape.MatchString(spec.Slug) {
		return nil, fmt.Errorf("app slug %q: want letters, digits and dashes", spec.Slug)
	}
	if spec.Permissions == nil {
		spec.Permissions = map[string]string{
			"metadata": "read", "contents": "read", "pull_requests": "write", "issues": "write", "checks": "write", "statuses": "write",
		}
	}
	if spec.Events == nil {
		spec.Events = []string{"issue_comment", "pull_request", "check_run", "repository"}
	}
	if spec.Owner == "" {
		spec.Owner = spec.Slug + "-owner"
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.addApp(spec)
}

// addApp; the caller holds mu.
func (s *Server) addApp(spec AppSpec) (*App, error) {
	key, err := appKey(len(s.apps))
	if err != nil {
		return nil, fmt.Errorf("make the App's key: %w", err)
	}
	a := &App{
		ID: s.id(), Slug: spec.Slug, name: spec.Slug, site: s.base, oauthSecret: randomText(40), owner: s.account(spec.Owner, "Organization"), key: &key.PublicKey,
		PrivateKey:  pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}),
		permissions: spec.Permissions, events: spec.Events, hookID: s.id(),
		hookURL: spec.WebhookURL, hookSecret: spec.WebhookSecret, created: s.stamp(),
	}
	a.bot = &User{ID: s.id(), Login: spec.Slug + "[bot]", Type: "Bot"}
	s.users[strings.ToLower(a.bot.Login)] = a.bot
	s.apps[a.ID] = a
	return a, nil
}

// AppByID finds an App, such as one that a person has made of a manifest; nil when
// there is none.
func (s *Server) AppByID(id int64) *App {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.apps[id]
}

type publicKey = *rsa.PublicKey

// appKeys are made once in a process, since making one takes a tenth of a
// second: the first App of every server has the same key, the second another.
var appKeys struct {
	sync.Mutex
	made []*rsa.PrivateKey
}

func appKey(n int) (*rsa.PrivateKey, error) {
	appKeys.Lock()
	defer appKeys.Unlock()
	for len(appKeys.made) <= n {
		key, err := rsa.GenerateKey(rand.Reader, 2048)
		if err != nil {
			return nil, err
		}
		appKeys.made = append(appKeys.made, key)
	}
	return appKeys.made[n], nil
}

// SetWebhook changes where an App's webhooks go.
func (s *Server) SetWebhook(a *App, url, secret string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a.hookURL, a.hookSecret = url, secret
}

// Install installs an App on an account, for the repositories named or, with
// none named, for all that the account has and will have.
func (s *Server) Install(a *App, account string, repos ...*Repo) (*Installation, error) {
	s.mu.Lock()
	u, err := s.user(account)
	if err != nil {
		s.mu.Unlock()
		return nil, err
	}
	if a.private && a.owner != u {
		s.mu.Unlock()
		return nil, fmt.Errorf("install on %s: the App %s is private to %s", account, a.Slug, a.owner.Login)
	}
	i := &Installation{ID: s.id(), App: a, Account: u, all: len(repos) == 0, repos: map[int64]bool{}, created: s.stamp()}
	for _, r := range repos {
		if r.Owner != u {
			s.mu.Unlock()
			return nil, fmt.Errorf("install on %s: repository %s belongs to another account", account, r.fullName())
		}
		i.repos[r.ID] = true
	}
	s.installations[i.ID] = i
	s.emitInstallation(i, "created", u)
	s.mu.Unlock()
	s.hooks.settle()
	return i, nil
}

// PullSpec describes a new pull request.
type PullSpec struct {
	Base    *Repo
	BaseRef string // the base's default branch when empty
	Head    *Repo  // a fork, or the base itself when nil
	HeadRef string
	Author  string // the head's owner when empty
	Title   string
	Body    string
	Labels  []string
	Draft   bool
}

// OpenPull opens a pull request, and sends the webhooks: one that it was
// opened, and one for every label it was opened with.
func (s *Server) OpenPull(spec PullSpec) (*Pull, error) {
	base, head := spec.Base, spec.Head
	if base == nil || spec.HeadRef == "" {
		return nil, errors.New("open a pull request: want a base and a head ref")
	}
	if head == nil {
		head = base
	}
	s.mu.Lock()
	if spec.Author == "" {
		spec.Author = head.Owner.Login
	}
	if spec.BaseRef == "" {
		spec.BaseRef = base.defaultBranch
	}
	author, err := s.user(spec.Author)
	s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	p := &Pull{
		Repo: base, title: spec.Title, body: spec.Body, author: author, open: true, draft: spec.Draft,
		headRepo: head, headOwner: head.Owner, headRef: spec.HeadRef, baseRef: spec.BaseRef,
	}
	if p.headSHA, err = head.commit("refs/heads/" + spec.HeadRef); err != nil {
		return nil, fmt.Errorf("open a pull request: head %s: %w", spec.HeadRef, err)
	}
	if p.baseSHA, err = base.commit("refs/heads/" + spec.BaseRef); err != nil {
		return nil, fmt.Errorf("open a pull request: base %s: %w", spec.BaseRef, err)
	}
	s.mu.Lock()
	base.pulls = append(base.pulls, p)
	p.ID, p.issueID, p.Number = s.id(), s.id(), len(base.pulls)
	p.created, p.updated = s.stamp(), s.stamp()
	s.mu.Unlock()
	if err := s.refreshPull(p); err != nil {
		return nil, fmt.Errorf("open a pull request: %w", err)
	}
	s.mu.Lock()
	for _, name := range spec.Labels {
		p.labels = append(p.labels, s.label(base, name))
	}
	s.emitPull(p, "opened", author, nil)
	for _, l := range p.labels {
		s.noteLabel(p, "labeled", l, author)
		s.emitPull(p, "labeled", author, map[string]any{"label": s.labelJSON(base, l)})
	}
	s.mu.Unlock()
	s.hooks.settle()
	return p, nil
}
