package forgetest

import (
	"context"
	"errors"
	"fmt"
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
	s.noteLabel(p, "labeled", l, u)
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
	s.noteLabel(p, "unlabeled", l, u)
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
	payload := object{"number": p.Number, "pull_request": s.fullPullJSON(p, p.stat)}
	for key, value := range extra {
		payload[key] = value
	}
	s.emit("pull_request", action, p.Repo, u, payload)
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
