package webhook

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/prbench/prbench/internal/config"
	"github.com/prbench/prbench/internal/forge"
	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/internal/queue"
)

// Hub is what this stage asks of GitHub, as one installation. *forge.Client is one.
type Hub interface {
	Permission(ctx context.Context, r forge.Repo, login string) (forge.Role, error)
	PullRequest(ctx context.Context, r forge.Repo, number int) (forge.PullRequest, error)
	PullCommits(ctx context.Context, r forge.Repo, number int) ([]forge.Commit, error)
	CommitsEndingAt(ctx context.Context, r forge.Repo, sha string, n int) ([]forge.Commit, error)
	OpenPulls(ctx context.Context, r forge.Repo) ([]forge.PullRequest, error)
	Repository(ctx context.Context, r forge.Repo) (forge.Repository, error)
	RepositoryByID(ctx context.Context, id int64) (forge.Repository, error)
	Repositories(ctx context.Context) ([]forge.Repository, error)
	FileAtDefaultBranch(ctx context.Context, r forge.Repo, path string) (forge.File, error)
	ResolveRef(ctx context.Context, r forge.Repo, name string) (forge.Ref, error)
	MergeBase(ctx context.Context, r forge.Repo, base, head string) (string, error)
	Comment(ctx context.Context, r forge.Repo, id int64) (forge.Comment, error)
	FindComment(ctx context.Context, r forge.Repo, number int, marker string) (forge.Comment, bool, error)
	CreateComment(ctx context.Context, r forge.Repo, number int, body string) (forge.Comment, error)
	EditComment(ctx context.Context, r forge.Repo, id int64, body string) (forge.Comment, error)
	RemoveLabel(ctx context.Context, r forge.Repo, number int, label string) error
	LastLabelling(ctx context.Context, r forge.Repo, number int, label string) (forge.Labelling, bool, error)
}

// Store keeps jobs and the first sight of commits. *queue.Queue is one.
type Store interface {
	// Create adds a job, or finds the one that has the same wish.
	Create(ctx context.Context, j job.Job) (job.Job, bool, error)
	Get(ctx context.Context, id job.ID) (job.Job, error)
	// List gives a pull request's jobs, oldest first.
	List(ctx context.Context, repoID int64, pr int) ([]job.Job, error)
	// Update changes a job by compare and swap; change may run several times.
	Update(ctx context.Context, id job.ID, change func(*job.Job) error) (job.Job, error)
	// Cancel takes a job back: a waiting one at once, a running one with its
	// runner's next beat.
	Cancel(ctx context.Context, id job.ID, c job.Cancel) (job.Job, error)
	// ByState gives all jobs in the named states.
	ByState(ctx context.Context, states ...job.State) ([]job.Job, error)
	// FirstSeen keeps the earliest time at which a commit was known as the head
	// of a pull request.
	FirstSeen(ctx context.Context, repoID int64, pr int, sha string, at time.Time) error
	// Seen gives that time; ok is false for a commit that never was its head.
	Seen(ctx context.Context, repoID int64, pr int, sha string) (at time.Time, ok bool, err error)
	// BecameHead notes which commit became the head of a pull request and when,
	// and gives the newest such note; Head gives it too.
	BecameHead(ctx context.Context, repoID int64, pr int, sha string, at time.Time) (queue.Head, error)
	Head(ctx context.Context, repoID int64, pr int) (h queue.Head, ok bool, err error)
	// Accept keeps that a regression was accepted, in place of what was accepted of
	// its benchmark before.
	Accept(ctx context.Context, a job.Accepted) error
}

// Acceptor turns events into jobs and replies. Its methods may be called for
// the same event again, and several at once: what they do twice shows once.
type Acceptor struct {
	// Hub gives the client of an installation.
	Hub   func(installation int64) Hub
	Store Store
	// Installations lists those who have the App, and InstallationOf gives the one
	// that covers a repository; nil with a plain token in place of an App.
	Installations  func(ctx context.Context) ([]forge.Installation, error)
	InstallationOf func(ctx context.Context, r forge.Repo) (forge.Installation, error)
	// Pools are this server's pools with who may use them.
	Pools []config.Pool
	// Waiting counts what waits in a pool for one person, and for one repository;
	// nil: as much may wait as people ask for.
	Waiting func(pool string, person, repository int64) (ofPerson, ofRepository int)
	// Self tells who we are on the forge, so that we ignore ourselves.
	Self func(ctx context.Context) (forge.Identity, error)
	// TrustedBots are the account ids of bots that may give commands.
	TrustedBots []int64
	Log         *slog.Logger
	Now         func() time.Time
}

// unknownHeadPatience is how long a comment's event waits for the event that
// tells of the pull request's head, which GitHub may deliver later.
const unknownHeadPatience = 10 * time.Second

// Handle acts on one event. An error means that the event should come again,
// but queue.ErrGiveUp, that it would fail alike.
func (a *Acceptor) Handle(ctx context.Context, e job.Event) error {
	own, err := a.ignores(ctx, e.Sender)
	if err != nil {
		return fmt.Errorf("learn who we are: %w", err)
	}
	log := a.Log.With("delivery", e.Delivery, "event", e.Kind, "action", e.Action,
		"repository", e.Repository.FullName(), "pr", e.PR)
	switch {
	case e.Kind == "issue_comment" && !own:
		err = a.comment(ctx, e, log)
	case e.Kind == "pull_request":
		err = a.pullRequest(ctx, e, own, log)
	case e.Kind == "check_run" && !own:
		err = a.button(ctx, e, log)
	case e.Kind == "installation" || e.Kind == "installation_repositories":
		err = a.installation(ctx, e)
	case e.Kind == "repository":
		err = a.repositoryChanged(ctx, e, e.Repository.ID)
	}
	if err == nil {
		return nil
	}
	if again(err) {
		return err
	}
	return fmt.Errorf("%w: %w", queue.ErrGiveUp, err)
}

// again tells whether an error may go away by itself. Errors that are not the
// forge's come from our own store, or from a context that ended.
func again(err error) bool {
	class := forge.Classify(err)
	return class.Kind == forge.Unclassified || class.Kind == forge.Cancelled || class.Retryable || class.Unclear
}

// ignores tells whether a sender gives no commands: ourselves, and bots that
// are not trusted by id. A name proves nothing.
func (a *Acceptor) ignores(ctx context.Context, p job.Person) (bool, error) {
	self, err := a.Self(ctx)
	if err != nil {
		return false, err
	}
	if self.Is(forge.Account{Login: p.Login, ID: p.ID, Type: p.Type}) {
		return true, nil
	}
	return p.Type == "Bot" && !slices.Contains(a.TrustedBots, p.ID), nil
}

// allows tells whether a repository may use a pool. Who may install the App must
// not decide who runs code on the machine.
func (a *Acceptor) allows(pool, repository string, installation int64) bool {
	return slices.ContainsFunc(a.Pools, func(p config.Pool) bool {
		return p.Name == pool && p.Allows(repository, installation)
	})
}

// limits are a pool's limits on running jobs.
func (a *Acceptor) limits(pool string) queue.Limits {
	for _, p := range a.Pools {
		if p.Name == pool {
			return queue.Limits{PerPerson: p.Limits.PerPerson, PerRepository: p.Limits.PerRepository}
		}
	}
	return queue.Limits{}
}

// serves tells whether a repository may use any pool.
func (a *Acceptor) serves(repository string, installation int64) bool {
	return slices.ContainsFunc(a.Pools, func(p config.Pool) bool { return p.Allows(repository, installation) })
}

func repoOf(r job.Repository) forge.Repo { return forge.Repo{Owner: r.Owner, Name: r.Name} }

// SeeInstallation learns the heads of all open pull requests, so that comments
// on them can be taken from now on.
func (a *Acceptor) SeeInstallation(ctx context.Context, installation int64) error {
	return a.eachRepository(ctx, installation, "see the open pull requests", a.seeRepository)
}

// eachRepository does something for every repository of an installation that may
// use a pool. One that fails holds up no other. The error joins what may go away
// by itself; the rest is logged.
func (a *Acceptor) eachRepository(ctx context.Context, installation int64, what string, do func(context.Context, Hub, forge.Repository) error) error {
	hub := a.Hub(installation)
	repos, err := hub.Repositories(ctx)
	if err != nil {
		return fmt.Errorf("list the repositories of installation %d: %w", installation, err)
	}
	var failed []error
	for _, r := range repos {
		if r.Archived || r.Disabled || !a.serves(r.Repo.String(), installation) {
			continue
		}
		err := do(ctx, hub, r)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil:
		case again(err):
			failed = append(failed, err)
		default:
			a.Log.Warn("a repository is left out", "to", what, "repository", r.Repo.String(), "err", err)
		}
	}
	return errors.Join(failed...)
}

func (a *Acceptor) seeRepository(ctx context.Context, hub Hub, r forge.Repository) error {
	pulls, err := hub.OpenPulls(ctx, r.Repo)
	if err != nil {
		return fmt.Errorf("list the open pull requests of %s: %w", r.Repo, err)
	}
	for _, p := range pulls {
		if err := a.seeHead(ctx, r.ID, p.Number, p.Head.SHA); err != nil {
			return fmt.Errorf("keep the head of %s#%d: %w", r.Repo, p.Number, err)
		}
	}
	return nil
}

// seeHead notes a head that GitHub was asked for, and no event told of: when it
// became the head is not known, but it was not after now.
func (a *Acceptor) seeHead(ctx context.Context, repoID int64, pr int, sha string) error {
	known, ok, err := a.Store.Head(ctx, repoID, pr)
	if err != nil || ok && known.SHA == sha {
		return err
	}
	_, err = a.Store.BecameHead(ctx, repoID, pr, sha, a.Now())
	return err
}

// asked is one wish on its way to a job.
type asked struct {
	event job.Event
	wish  job.Wish
	hub   Hub
	repo  forge.Repo
	cfg   *config.Repo
	flags config.JobFlags
	suite []string
	adhoc string
	// head is the commit that the event pins; empty for a comment.
	head string
	at   time.Time // when the person asked
	// whole says that all of the pull request is meant, and no commit can be named.
	whole bool
}

// spec is what the wish asks for, if the repository may have it.
func (a *Acceptor) spec(q asked) (job.Spec, error) {
	spec, err := q.flags.Spec(q.cfg, q.suite)
	if err != nil {
		return job.Spec{}, refuse("%s", code(err.Error())) // it quotes what was written
	}
	spec.Adhoc = q.adhoc
	if !a.allows(spec.Pool, q.event.Repository.FullName(), q.event.Installation) {
		return job.Spec{}, refuse("this repository may not use the pool %s of this server; its operators decide that", code(spec.Pool))
	}
	return spec, nil
}

// place makes the job of a wish, or says in a refusal why there is none.
func (a *Acceptor) place(ctx context.Context, q asked) (job.Job, bool, error) {
	spec, err := a.spec(q)
	if err != nil {
		return job.Job{}, false, err
	}
	pr, err := q.hub.PullRequest(ctx, q.repo, q.event.PR)
	if err != nil {
		return job.Job{}, false, fmt.Errorf("read the pull request: %w", err)
	}
	head, err := a.pinHead(ctx, q, pr)
	if err != nil {
		return job.Job{}, false, err
	}
	base, baseRef, err := pinBase(ctx, q, pr, head)
	if err != nil {
		return job.Job{}, false, err
	}
	repository, err := a.repository(ctx, q)
	if err != nil {
		return job.Job{}, false, err
	}
	j := job.Job{
		Installation: q.event.Installation, Repository: repository, PR: q.event.PR, Wish: q.wish, Spec: spec,
		Base: job.Side{SHA: base, Ref: baseRef}, Head: job.Side{SHA: head, Ref: pr.Head.Label}}
	if pr.Mergeable != nil && !*pr.Mergeable {
		j.Notes = append(j.Notes, "The pull request conflicts with "+code(pr.Base.Ref)+". This comparison is of its head with the merge base, so that does not matter here.")
	}
	if err := a.room(ctx, j, 1); err != nil {
		return job.Job{}, false, err
	}
	return a.Store.Create(ctx, j)
}

// repository completes what the payload says of the repository.
func (a *Acceptor) repository(ctx context.Context, q asked) (job.Repository, error) {
	r := q.event.Repository
	if r.CloneURL != "" && r.DefaultBranch != "" {
		return r, nil
	}
	now, err := q.hub.Repository(ctx, q.repo)
	if err != nil {
		return job.Repository{}, fmt.Errorf("read the repository: %w", err)
	}
	r.CloneURL, r.HTMLURL, r.DefaultBranch, r.Private = now.CloneURL, now.HTMLURL, now.DefaultBranch, now.Private
	return r, nil
}
