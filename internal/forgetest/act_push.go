package forgetest

import (
	"fmt"
	"os"
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

// refreshPull fetches the head into refs/pull/N/head and computes whether it
// merges.
func (s *Server) refreshPull(p *Pull) error {
	base := p.Repo
	base.gitMu.Lock()
	defer base.gitMu.Unlock()
	s.mu.Lock()
	head, headSHA, baseSHA, number := p.headRepo, p.headSHA, p.baseSHA, p.Number
	s.mu.Unlock()
	if head != base && !fileExists(head.dir) {
		return nil
	}
	if _, err := base.git("fetch", "-q", "--no-tags", head.dir, "+"+headSHA+fmt.Sprintf(":refs/pull/%d/head", number)); err != nil {
		return err
	}
	merges, commit := base.tryMerge(baseSHA, headSHA, number)
	s.mu.Lock()
	p.mergeable, p.mergeCommit = &merges, commit
	s.mu.Unlock()
	return nil
}

// tryMerge makes the merge commit behind refs/pull/N/merge, as GitHub does;
// after a conflict the old ref stays.
func (r *Repo) tryMerge(base, head string, number int) (bool, string) {
	ref := fmt.Sprintf("refs/pull/%d/merge", number)
	tree, err := r.git("merge-tree", "--write-tree", base, head)
	if err != nil {
		old, _ := r.commit(ref)
		return false, old
	}
	commit, err := r.git("-c", "user.name=forge", "-c", "user.email=forge@forge.example",
		"commit-tree", tree, "-p", base, "-p", head, "-m", "Merge "+head+" into "+base)
	if err != nil {
		return false, ""
	}
	r.git("update-ref", ref, commit)
	return true, commit
}

func fileExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
