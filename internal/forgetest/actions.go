package forgetest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// The methods of this file act as a person does on GitHub's pages. They ask
// for no permission: a test may well want somebody to do what GitHub would
// have let somebody else do.

// as runs fn as a person while holding mu, and then lets the webhooks settle.
func (s *Server) as(login string, fn func(*User) error) error {
	s.mu.Lock()
	u, err := s.user(login)
	if err == nil {
		err = fn(u)
	}
	s.mu.Unlock()
	if err != nil {
		return err
	}
	s.hooks.settle()
	return nil
}

// AddLabel puts a label on a pull request.
func (s *Server) AddLabel(login string, p *Pull, name string) error {
	return s.as(login, func(u *User) error { s.addLabel(p, name, u); return nil })
}

// RemoveLabel takes a label off a pull request.
func (s *Server) RemoveLabel(login string, p *Pull, name string) error {
	return s.as(login, func(u *User) error {
		if !s.removeLabel(p, name, u) {
			return fmt.Errorf("pull request %d does not carry label %q", p.Number, name)
		}
		return nil
	})
}

// label finds or makes a repository's label; the caller holds mu.
func (s *Server) label(r *Repo, name string) *label {
	key := strings.ToLower(name)
	if r.labels[key] == nil {
		r.labels[key] = &label{id: s.id(), name: name, color: "ededed"}
	}
	return r.labels[key]
}

func (s *Server) addLabel(p *Pull, name string, u *User) {
	if p.hasLabel(name) {
		return
	}
	l := s.label(p.Repo, name)
	p.labels = append(p.labels, l)
	p.updated = s.stamp()
	s.emitPull(p, "labeled", u, object{"label": s.labelJSON(p.Repo, l)})
}

func (s *Server) removeLabel(p *Pull, name string, u *User) bool {
	i := slices.IndexFunc(p.labels, func(l *label) bool { return strings.EqualFold(l.name, name) })
	if i < 0 {
		return false
	}
	l := p.labels[i]
	p.labels = slices.Delete(slices.Clone(p.labels), i, i+1)
	p.updated = s.stamp()
	s.emitPull(p, "unlabeled", u, object{"label": s.labelJSON(p.Repo, l)})
	return true
}

// Comment writes a comment and returns its id.
func (s *Server) Comment(login string, p *Pull, body string) (int64, error) {
	var id int64
	err := s.as(login, func(u *User) error { id = s.addComment(p, u, nil, body).id; return nil })
	return id, err
}

// EditComment changes a comment's text.
func (s *Server) EditComment(login string, id int64, body string) error {
	return s.as(login, func(u *User) error {
		c := s.comments[id]
		if c == nil || c.deleted {
			return fmt.Errorf("edit: no comment %d", id)
		}
		s.editComment(c, u, body)
		return nil
	})
}

// DeleteComment deletes a comment.
func (s *Server) DeleteComment(login string, id int64) error {
	return s.as(login, func(u *User) error {
		c := s.comments[id]
		if c == nil || c.deleted {
			return fmt.Errorf("delete: no comment %d", id)
		}
		s.deleteComment(c, u)
		return nil
	})
}

func (s *Server) addComment(p *Pull, u *User, via *App, body string) *comment {
	now := s.stamp()
	c := &comment{id: s.id(), pull: p, author: u, app: via, body: body, created: now, updated: now}
	p.comments = append(p.comments, c)
	p.updated = now
	s.comments[c.id] = c
	s.emitComment(c, "created", u, nil)
	return c
}

func (s *Server) editComment(c *comment, u *User, body string) {
	former := c.body
	c.edits = append(c.edits, former)
	c.body, c.updated = body, s.stamp()
	s.emitComment(c, "edited", u, object{"changes": object{"body": object{"from": former}}})
}

func (s *Server) deleteComment(c *comment, u *User) {
	c.deleted = true
	s.emitComment(c, "deleted", u, nil)
}

func (s *Server) emitComment(c *comment, action string, u *User, extra object) {
	payload := object{"issue": s.issueJSON(c.pull), "comment": s.commentJSON(c)}
	for key, value := range extra {
		payload[key] = value
	}
	s.emit("issue_comment", action, c.pull.Repo, u, payload)
}

// emitPull queues a pull_request event; the caller holds mu.
func (s *Server) emitPull(p *Pull, action string, u *User, extra object) {
	payload := object{"number": p.Number, "pull_request": s.fullPullJSON(p, diffStat{})}
	for key, value := range extra {
		payload[key] = value
	}
	s.emit("pull_request", action, p.Repo, u, payload)
}

// Push runs fn in a checkout of a branch and pushes what it commits, as the
// person. Open pull requests of the branch move to the new head. It returns
// the branch's new commit.
func (s *Server) Push(login string, r *Repo, branch string, fn func(*Work) error) (string, error) {
	s.mu.Lock()
	u, err := s.user(login)
	s.mu.Unlock()
	if err != nil {
		return "", err
	}
	before := map[string]string{}
	r.gitMu.Lock()
	for _, ref := range r.heads() {
		before[ref.name] = ref.sha
	}
	err = r.work(branch, u.Login, fn)
	after := r.heads()
	r.gitMu.Unlock()
	if err != nil {
		return "", fmt.Errorf("push to %s: %w", branch, err)
	}
	tip := ""
	for _, ref := range after {
		if ref.name == branch {
			tip = ref.sha
		}
		if before[ref.name] != ref.sha {
			if err := s.moved(r, ref.name, before[ref.name], ref.sha, u); err != nil {
				return "", err
			}
		}
	}
	s.hooks.settle()
	return tip, nil
}

// ForcePush sets a branch to a commit that the repository has, as the person.
func (s *Server) ForcePush(login string, r *Repo, branch, sha string) error {
	s.mu.Lock()
	u, err := s.user(login)
	s.mu.Unlock()
	if err != nil {
		return err
	}
	r.gitMu.Lock()
	before, _ := r.commit("refs/heads/" + branch)
	_, err = r.git("update-ref", "refs/heads/"+branch, sha)
	r.gitMu.Unlock()
	if err != nil {
		return fmt.Errorf("force-push %s: %w", branch, err)
	}
	if err := s.moved(r, branch, before, sha, u); err != nil {
		return err
	}
	s.hooks.settle()
	return nil
}

type ref struct{ name, sha string }

// heads lists the branches.
func (r *Repo) heads() []ref {
	out, _ := r.git("for-each-ref", "--format=%(objectname) %(refname:lstrip=2)", "refs/heads")
	var all []ref
	for _, line := range strings.Split(out, "\n") {
		if sha, name, ok := strings.Cut(line, " "); ok {
			all = append(all, ref{name: name, sha: sha})
		}
	}
	return all
}

// moved tells the pull requests of a branch that it has a new commit.
func (s *Server) moved(r *Repo, branch, before, after string, u *User) error {
	s.mu.Lock()
	var heads, bases []*Pull
	for _, one := range s.repos {
		for _, p := range one.pulls {
			if p.open && p.headRepo == r && p.headRef == branch {
				p.formerHeads = append(p.formerHeads, p.headSHA)
				p.headSHA, p.updated = after, s.stamp()
				heads = append(heads, p)
			}
			if p.open && p.Repo == r && p.baseRef == branch {
				p.baseSHA = after
				bases = append(bases, p)
			}
		}
	}
	s.mu.Unlock()
	for _, p := range slices.Concat(heads, bases) {
		if err := s.refreshPull(p); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.emit("push", "", r, u, object{
		"ref": "refs/heads/" + branch, "before": zeroIfEmpty(before), "after": after, "created": before == "", "deleted": false,
		"forced": false, "base_ref": nil, "compare": s.base + "/" + r.fullName(), "commits": []any{}, "head_commit": nil,
		"pusher": object{"name": u.Login},
	})
	for _, p := range heads {
		s.emitPull(p, "synchronize", u, object{"before": zeroIfEmpty(before), "after": after})
	}
	return nil
}

func zeroIfEmpty(sha string) string {
	if sha == "" {
		return strings.Repeat("0", 40)
	}
	return sha
}

// ClosePull closes a pull request without merging it.
func (s *Server) ClosePull(login string, p *Pull) error {
	return s.as(login, func(u *User) error {
		p.open, p.closed, p.updated = false, s.stamp(), s.stamp()
		s.emitPull(p, "closed", u, nil)
		return nil
	})
}

// ReopenPull opens a closed pull request again.
func (s *Server) ReopenPull(login string, p *Pull) error {
	return s.as(login, func(u *User) error {
		if p.merged {
			return errors.New("a merged pull request cannot be reopened")
		}
		p.open, p.updated = true, s.stamp()
		p.closed = time.Time{}
		s.emitPull(p, "reopened", u, nil)
		return nil
	})
}

// MergePull merges a pull request into its base branch.
func (s *Server) MergePull(login string, p *Pull) error {
	s.mu.Lock()
	sha, clean := p.mergeCommit, p.open && p.mergeable != nil && *p.mergeable
	s.mu.Unlock()
	if !clean {
		return fmt.Errorf("pull request %d cannot be merged", p.Number)
	}
	if err := s.as(login, func(u *User) error {
		p.open, p.merged, p.closed, p.updated = false, true, s.stamp(), s.stamp()
		s.emitPull(p, "closed", u, nil)
		return nil
	}); err != nil {
		return err
	}
	return s.ForcePush(login, p.Repo, p.baseRef, sha)
}

// ChangeBase changes the branch that a pull request goes to.
func (s *Server) ChangeBase(login string, p *Pull, branch string) error {
	sha, err := p.Repo.commit("refs/heads/" + branch)
	if err != nil {
		return fmt.Errorf("change the base: %w", err)
	}
	s.mu.Lock()
	oldRef, oldSHA := p.baseRef, p.baseSHA
	p.baseRef, p.baseSHA, p.updated = branch, sha, s.stamp()
	s.mu.Unlock()
	if err := s.refreshPull(p); err != nil {
		return err
	}
	return s.as(login, func(u *User) error {
		s.emitPull(p, "edited", u, object{"changes": object{"base": object{"ref": object{"from": oldRef}, "sha": object{"from": oldSHA}}}})
		return nil
	})
}

// LockPull locks or unlocks a pull request's conversation.
func (s *Server) LockPull(login string, p *Pull, locked bool) error {
	return s.as(login, func(u *User) error {
		p.locked = locked
		action := "unlocked"
		if locked {
			action = "locked"
		}
		s.emitPull(p, action, u, nil)
		return nil
	})
}

// Archive makes a repository read-only, or writable again.
func (s *Server) Archive(login string, r *Repo, archived bool) error {
	return s.as(login, func(u *User) error {
		r.archived = archived
		action := "unarchived"
		if archived {
			action = "archived"
		}
		s.emit("repository", action, r, u, nil)
		return nil
	})
}

// Rename gives a repository a new name; the old one answers with a redirect.
func (s *Server) Rename(login string, r *Repo, name string) error {
	return s.as(login, func(u *User) error {
		if !nameShape.MatchString(name) {
			return fmt.Errorf("repository name %q: want letters, digits, dots, dashes and underscores", name)
		}
		key := strings.ToLower(r.Owner.Login + "/" + name)
		if other := s.repoNames[key]; other != nil && other != r {
			return fmt.Errorf("repository name %q: is taken", name)
		}
		former := r.name
		r.name = name
		s.repoNames[key] = r
		s.emit("repository", "renamed", r, u, object{"changes": object{"repository": object{"name": object{"from": former}}}})
		return nil
	})
}

// DeleteRepo deletes a repository. Pull requests that came from it stay, with
// their refs/pull/N/head.
func (s *Server) DeleteRepo(login string, r *Repo) error {
	err := s.as(login, func(u *User) error {
		s.emit("repository", "deleted", r, u, nil)
		r.deleted = true
		for key, one := range s.repoNames {
			if one == r {
				delete(s.repoNames, key)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	r.gitMu.Lock()
	defer r.gitMu.Unlock()
	return os.RemoveAll(r.dir)
}

// Suspend suspends an installation, or lets it go on.
func (s *Server) Suspend(login string, i *Installation, suspended bool) error {
	return s.as(login, func(u *User) error {
		action := "unsuspend"
		i.suspended = time.Time{}
		if suspended {
			action, i.suspended = "suspend", s.stamp()
		}
		s.emitInstallation(i, action, u)
		return nil
	})
}

// Uninstall takes the App off an account.
func (s *Server) Uninstall(login string, i *Installation) error {
	return s.as(login, func(u *User) error {
		s.emitInstallation(i, "deleted", u)
		i.deleted = true
		for _, t := range s.tokens {
			if t.inst == i {
				t.revoked = true
			}
		}
		return nil
	})
}

// SelectRepos adds repositories to an installation, and takes others away.
func (s *Server) SelectRepos(login string, i *Installation, add, remove []*Repo) error {
	return s.as(login, func(u *User) error {
		list := func(repos []*Repo) []object {
			out := []object{}
			for _, r := range repos {
				out = append(out, object{"id": r.ID, "node_id": nodeID("R", r.ID), "name": r.name, "full_name": r.fullName(), "private": r.private})
			}
			return out
		}
		i.all = false
		for _, r := range add {
			i.repos[r.ID] = true
		}
		for _, r := range remove {
			delete(i.repos, r.ID)
		}
		for action, repos := range map[string][]*Repo{"added": add, "removed": remove} {
			if len(repos) == 0 {
				continue
			}
			payload := object{
				"installation": s.installationJSON(i), "repository_selection": "selected", "requester": nil,
				"repositories_added": []object{}, "repositories_removed": []object{},
			}
			payload["repositories_"+action] = list(repos)
			s.emitTo(i, "installation_repositories", action, nil, u, payload)
		}
		return nil
	})
}

// Ping sends what GitHub sends to a new webhook.
func (s *Server) Ping(a *App) {
	s.mu.Lock()
	if a.hookURL != "" {
		d := &Delivery{ID: s.id(), GUID: newGUID(), App: a, Event: "ping", At: s.stamp()}
		d.Payload = encode(object{"zen": "Keep it logically awesome.", "hook_id": a.hookID, "hook": object{
			"type": "App", "id": a.hookID, "name": "web", "active": true, "events": a.events, "app_id": a.ID,
			"config": object{"content_type": "json", "insecure_ssl": "0", "url": a.hookURL},
		}})
		s.deliveries = append(s.deliveries, d)
		s.hooks.add(d)
	}
	s.mu.Unlock()
	s.hooks.settle()
}

// emitInstallation queues an installation event; every App gets its own. The
// caller holds mu.
func (s *Server) emitInstallation(i *Installation, action string, u *User) {
	repos := []object{}
	for _, r := range s.sortedRepos() {
		if i.covers(r) {
			repos = append(repos, object{"id": r.ID, "node_id": nodeID("R", r.ID), "name": r.name, "full_name": r.fullName(), "private": r.private})
		}
	}
	s.emitTo(i, "installation", action, nil, u, object{"installation": s.installationJSON(i), "repositories": repos, "requester": nil})
}

func (s *Server) sortedRepos() []*Repo {
	var all []*Repo
	for _, r := range s.repos {
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b *Repo) int { return int(a.ID - b.ID) })
	return all
}

// RerequestCheckRun asks for a check run again, as its button does.
func (s *Server) RerequestCheckRun(login string, id int64) error {
	return s.checkRunEvent(login, id, "rerequested", nil)
}

// PressAction presses one of a check run's own buttons.
func (s *Server) PressAction(login string, id int64, identifier string) error {
	return s.checkRunEvent(login, id, "requested_action", object{"requested_action": object{"identifier": identifier}})
}

// checkRunEvent goes only to the App whose check run it is.
func (s *Server) checkRunEvent(login string, id int64, action string, extra object) error {
	return s.as(login, func(u *User) error {
		c := s.checkRuns[id]
		if c == nil {
			return fmt.Errorf("no check run %d", id)
		}
		payload := object{"check_run": s.checkRunJSON(c)}
		for key, value := range extra {
			payload[key] = value
		}
		for _, i := range s.sortedInstallations() {
			if i.App == c.app && i.covers(c.repo) && slices.Contains(i.App.events, "check_run") {
				s.emitTo(i, "check_run", action, c.repo, u, payload)
			}
		}
		return nil
	})
}

// DelayMergeable makes the next n reads of a pull request answer that GitHub
// has not yet computed whether it merges.
func (s *Server) DelayMergeable(p *Pull, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p.mergeableUnknown = n
}

// Wait is for tests that wait for what a webhook causes: it asks until done
// reports true or the context ends.
func (s *Server) Wait(ctx context.Context, p *Pull, done func(Conversation) bool) error {
	return poll(ctx, func() bool { return done(s.Conversation(p)) })
}
