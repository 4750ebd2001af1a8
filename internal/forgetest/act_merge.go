package forgetest

import (
	"fmt"
	"strings"
)

// MergeStyle is one of the ways in which GitHub merges.
type MergeStyle string

// The choices of GitHub's merge button.
const (
	MergeCommit MergeStyle = "merge"  // a merge commit, also where the base could be moved forward
	MergeSquash MergeStyle = "squash" // one new commit
	MergeRebase MergeStyle = "rebase" // each commit anew, with its author and date
)

// MergePull merges a pull request into its base branch with a merge commit.
func (s *Server) MergePull(login string, p *Pull) error { return s.Merge(login, p, MergeCommit) }

// Merge merges a pull request into its base branch, in real git, as the person
// with GitHub's merge button does. The push comes before the event that the pull
// request was closed, as on GitHub.
func (s *Server) Merge(login string, p *Pull, style MergeStyle) error {
	s.mu.Lock()
	u, err := s.user(login)
	clean := p.open && p.mergeable != nil && *p.mergeable
	m := mergeWork{style: style, number: p.Number, title: p.title, from: p.headOwner.Login + "/" + p.headRef, head: p.headSHA, author: p.author.Login}
	branch := p.baseRef
	s.mu.Unlock()
	if err != nil {
		return err
	}
	if !clean {
		return fmt.Errorf("pull request %d cannot be merged", p.Number)
	}
	p.Repo.gitMu.Lock()
	before, err := p.Repo.commit("refs/heads/" + branch)
	if err == nil {
		m.base = before
		err = p.Repo.work(branch, u.Login, m.do)
	}
	after, _ := p.Repo.commit("refs/heads/" + branch)
	p.Repo.gitMu.Unlock()
	if err != nil {
		return fmt.Errorf("merge pull request %d: %w", p.Number, err)
	}
	s.mu.Lock()
	p.open, p.merged, p.closed, p.updated = false, true, s.stamp(), s.stamp()
	p.mergedBy, p.mergeCommit = u, after
	s.mu.Unlock()
	if err := s.moved(p.Repo, branch, before, after, u); err != nil {
		return err
	}
	return s.as(login, func(u *User) error { s.emitPull(p, "closed", u, nil); return nil })
}

// mergeWork is a merge in a checkout of the base branch.
type mergeWork struct {
	style               MergeStyle
	number              int
	title, from, author string
	base, head          string
}

func (m mergeWork) do(w *Work) error {
	switch m.style {
	case MergeCommit:
		_, err := w.Git("merge", "-q", "--no-ff", "-m", fmt.Sprintf("Merge pull request #%d from %s\n\n%s", m.number, m.from, m.title), m.head)
		return err
	case MergeSquash:
		return m.squash(w)
	case MergeRebase:
		// Merges within the pull request are left out, as git rebase does.
		own, err := w.Git("rev-list", "--reverse", "--no-merges", m.base+".."+m.head)
		if err != nil {
			return err
		}
		_, err = w.Git(append([]string{"cherry-pick", "--allow-empty"}, strings.Fields(own)...)...)
		return err
	}
	return fmt.Errorf("merge style %q: want merge, squash or rebase", m.style)
}

// squash makes one commit in the author's name. Its message is GitHub's: that of
// a single commit, or a list of all.
func (m mergeWork) squash(w *Work) error {
	own, err := w.Git("log", "--reverse", "--no-merges", "--format=%s", m.base+".."+m.head)
	if err != nil {
		return err
	}
	subjects := strings.Split(own, "\n")
	message := fmt.Sprintf("%s (#%d)\n\n* %s\n", m.title, m.number, strings.Join(subjects, "\n\n* "))
	if len(subjects) == 1 {
		message = fmt.Sprintf("%s (#%d)\n", subjects[0], m.number)
	}
	if _, err := w.Git("merge", "-q", "--squash", m.head); err != nil {
		return err
	}
	_, err = w.Git("commit", "-q", "--allow-empty", "-m", message,
		fmt.Sprintf("--author=%s <%s@users.noreply.forge.example>", m.author, m.author))
	return err
}
