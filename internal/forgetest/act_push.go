package forgetest

import (
	"fmt"
	"slices"
	"strings"
)

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
