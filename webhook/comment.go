package webhook

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/prbench/prbench/internal/config"
	"github.com/prbench/prbench/internal/forge"
	"github.com/prbench/prbench/internal/job"
)

// comment acts on the commands of a new comment, or on those that an edit changed.
func (a *Acceptor) comment(ctx context.Context, e job.Event, log *slog.Logger) error {
	commands, lost := Commands(e.Comment.Body)
	gone := false // an edit has taken away what we may have replied to
	if e.Action == "edited" {
		old, oldLost := Commands(e.Comment.OldBody)
		gone = len(without(old, commands)) > 0 || oldLost && !lost
		commands = without(commands, old)
		lost = lost && !oldLost
	}
	hub, repo := a.Hub(e.Installation), repoOf(e.Repository)
	marker := fmt.Sprintf("comment:%d", e.Comment.ID)
	commands, err := a.stillWritten(ctx, hub, e, commands, log)
	if err != nil {
		return err
	}
	if len(commands) == 0 && !lost {
		if gone {
			return a.mend(ctx, hub, e, marker, "This is no longer asked for: the comment has been changed.")
		}
		return nil
	}
	cfg, err := a.trusted(ctx, hub, repo, e)
	if err != nil {
		return a.say(ctx, hub, e, marker, err, log)
	}
	if len(commands) == 0 {
		return a.reply(ctx, hub, e, marker, "A line that starts with `"+Word+"` has become part of the quote or list above it. "+
			"Leave an empty line above it, and it will be read.")
	}
	var replies []string
	for _, c := range commands {
		said, err := a.obey(ctx, hub, repo, cfg, e, c, log)
		if err != nil {
			return err
		}
		if said != "" {
			replies = append(replies, said)
		}
	}
	switch {
	case len(replies) == 0 && e.Action == "edited":
		return a.mend(ctx, hub, e, marker, "The command has been changed, and is understood now.")
	case len(replies) == 0:
		return nil
	}
	return a.reply(ctx, hub, e, marker, strings.Join(replies, "\n\n"))
}

// without gives the commands that are not among others.
func without(commands, others []Command) []Command {
	var left []Command
	for _, c := range commands {
		if !slices.ContainsFunc(others, func(o Command) bool { return o.Text == c.Text && o.Adhoc == c.Adhoc }) {
			left = append(left, c)
		}
	}
	return left
}

// trusted gives the repository's config when the sender may give commands, and
// a refusal when the sender may not, or when there is no usable config.
func (a *Acceptor) trusted(ctx context.Context, hub Hub, repo forge.Repo, e job.Event) (*config.Repo, error) {
	cfg, cfgErr := readConfig(ctx, hub, repo)
	if cfgErr != nil && !isRefusal(cfgErr) {
		return nil, cfgErr
	}
	need := forge.RoleWrite
	if cfg != nil {
		need = forge.Role(cfg.Trigger.Permission)
	}
	role, err := hub.Permission(ctx, repo, e.Sender.Login)
	if err != nil {
		return nil, fmt.Errorf("ask the permission of the sender: %w", err)
	}
	if !role.AtLeast(need) {
		return nil, refuse("benchmarks run on a dedicated machine, so only people with %s permission on this repository have a say in them. "+
			"%s has %s. A maintainer can ask for this one.", code(string(need)), code(e.Sender.Login), code(string(role)))
	}
	return cfg, cfgErr
}

// readConfig reads the repository's config from its default branch, never from
// a pull request: it decides what runs.
func readConfig(ctx context.Context, hub Hub, repo forge.Repo) (*config.Repo, error) {
	f, err := hub.FileAtDefaultBranch(ctx, repo, config.RepoPath)
	if forge.IsNotFound(err) {
		return nil, refuse("there is no %s on the default branch, so it is not known how to build and run the benchmarks", code(config.RepoPath))
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", config.RepoPath, err)
	}
	cfg, err := config.ParseRepo(f.Data, config.RepoPath)
	if err != nil {
		return nil, refuse("%s on the default branch cannot be used:\n\n%s", code(config.RepoPath), fence(err.Error()))
	}
	return cfg, nil
}

// obey acts on one command and gives what to reply, if anything.
func (a *Acceptor) obey(ctx context.Context, hub Hub, repo forge.Repo, cfg *config.Repo, e job.Event, c Command, log *slog.Logger) (string, error) {
	if c.Err != nil {
		return mistake(c, code(c.Err.Error()), cfg), nil
	}
	q := asked{event: e, hub: hub, repo: repo, cfg: cfg, flags: c.Flags, suite: c.Suites, adhoc: c.Adhoc, at: e.At, wish: commentWish(e, c)}
	var said string
	var err error
	switch c.Verb {
	case Help:
		said = help(cfg)
	case Status:
		if !a.serves(e.Repository.FullName(), e.Installation) {
			err = refuse("this repository may not use any pool of this server; its operators decide that")
			break
		}
		said, err = a.status(ctx, cfg, e)
	case Cancel:
		said, err = a.cancelAll(ctx, e)
	case Rerun:
		err = a.rerun(ctx, q, log)
	case Explain:
		err = a.explain(ctx, cfg, e, c, log)
	case Backport:
		err = a.backport(ctx, q, c.Lines, log)
	case Accept:
		said, err = a.accept(ctx, e, c)
	default:
		var j job.Job
		var fresh bool
		j, fresh, err = a.place(ctx, q)
		logJob(log, j, fresh, err)
	}
	if isRefusal(err) {
		return mistake(c, err.Error(), cfg), nil
	}
	return said, err
}

func logJob(log *slog.Logger, j job.Job, fresh bool, err error) {
	if err == nil {
		log.Info("job accepted", "job", j.ID, "try", j.Try, "new", fresh, "base", j.Base.SHA, "head", j.Head.SHA)
	}
}

func commentWish(e job.Event, c Command) job.Wish {
	key := fmt.Sprintf("comment:%d:%s", e.Comment.ID, c.Text)
	if c.Adhoc != "" {
		key += fmt.Sprintf(":%x", sha256.Sum256([]byte(c.Adhoc)))
	}
	return job.Wish{Key: key, Trigger: job.ByComment, Command: c.Text,
		Sender: e.Sender.Login, SenderID: e.Sender.ID, CommentID: e.Comment.ID, Delivery: e.Delivery, At: e.At}
}

// rerun repeats the pull request's last command: its job on the same two commits,
// or all lines of a backport.
func (a *Acceptor) rerun(ctx context.Context, q asked, log *slog.Logger) error {
	history, err := a.Store.List(ctx, q.event.Repository.ID, q.event.PR)
	if err != nil {
		return fmt.Errorf("read the pull request's jobs: %w", err)
	}
	own := func(j job.Job) bool { // where this event comes again
		return j.Wish.Key == q.wish.Key || j.Wish.Key == mainKey(q.wish.Key) || strings.HasPrefix(j.Wish.Key, lineKey(q.wish.Key, ""))
	}
	before := slices.DeleteFunc(slices.Clone(history), func(j job.Job) bool { return own(j) || j.Explain != nil })
	if len(before) == 0 {
		return refuse("nothing has been run on this pull request yet")
	}
	last := before[len(before)-1]
	if of := groupNamed(before, last); of != "" {
		return a.repeatGroup(ctx, q, of, nil, log)
	}
	made, fresh, err := a.repeat(ctx, q.event, last, q.wish, nil)
	if err == nil {
		logJob(log, made, fresh, nil)
	}
	return err
}

// repeat makes the next attempt of a job's comparison, on the same two commits,
// with what change makes of its spec.
func (a *Acceptor) repeat(ctx context.Context, e job.Event, last job.Job, wish job.Wish, change func(*job.Spec)) (job.Job, bool, error) {
	if !a.allows(last.Spec.Pool, e.Repository.FullName(), e.Installation) {
		return job.Job{}, false, refuse("this repository may not use the pool %s of this server any more; its operators decide that", code(last.Spec.Pool))
	}
	j := job.Job{Installation: e.Installation, Repository: last.Repository, PR: e.PR, Wish: wish, Spec: last.Spec,
		Base: last.Base, Head: last.Head, Notes: last.Notes, Outdated: last.Outdated}
	if change != nil {
		change(&j.Spec)
	}
	if err := a.room(ctx, j, 1); err != nil {
		return job.Job{}, false, err
	}
	made, fresh, err := a.Store.Create(ctx, j)
	if err != nil {
		return job.Job{}, false, fmt.Errorf("queue the repeat: %w", err)
	}
	return made, fresh, nil
}

func isRefusal(err error) bool {
	var r *refusal
	return errors.As(err, &r)
}
