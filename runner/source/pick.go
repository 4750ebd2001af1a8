package source

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/prbench/prbench/internal/job"
)

// Pick puts a change on the pair's old side, which is the tip of a release line.
// Where it goes on, the commit that this makes is the pair's new side; where it
// does not, or is there already, the pair has no new side and nothing of what
// was tried stays. How it went is in the Picked, none of it an error. A change
// that no line could take (a merge commit without a parent to compare it with,
// a commit that is not there) gives a *Refused; other errors are faults.
//
// The commit depends on the tip and the change alone. Anyone makes it again with
// git 2.39 or newer, with no configuration but git's own (GIT_CONFIG_GLOBAL=/dev/null
// GIT_CONFIG_NOSYSTEM=1), in a clone that has the commits:
//
//	git checkout --detach TIP
//	# for each pick, in order:
//	export GIT_COMMITTER_NAME="$(git log -1 --format=%cn SHA)"
//	export GIT_COMMITTER_EMAIL="$(git log -1 --format=%ce SHA)"
//	export GIT_COMMITTER_DATE="@$(git log -1 --format=%cd --date=raw SHA)"
//	git cherry-pick --allow-empty-message SHA   # with -m N where the pick has a mainline
//
// Where git says that a cherry-pick is now empty, the commit is left out (git
// cherry-pick --skip). A committer without a name is written "unknown". Of a pick
// that has a Since, the commit that is picked is made before, with the same
// committer and with the author of SHA likewise in GIT_AUTHOR_NAME,
// GIT_AUTHOR_EMAIL and GIT_AUTHOR_DATE:
//
//	git log -1 --format=tformat:%B SHA | head -c -1 | git commit-tree -p SINCE SHA^{tree}
//
// The patch id is that of
//
//	git diff --full-index TIP PICKED | git patch-id --stable
//
// Trees that are beyond the limits are refused before git compares them.
func (p *Pair) Pick(ctx context.Context, c job.Change) (job.Picked, error) {
	return mended(ctx, p, func() (job.Picked, error) { return p.pick(ctx, c) })
}

func (p *Pair) pick(ctx context.Context, c job.Change) (job.Picked, error) {
	p.New, p.picked = Commit{}, false
	if err := p.ready(ctx, c); err != nil {
		return job.Picked{}, err
	}
	if err := p.pickable(ctx, c.Picks); err != nil {
		return job.Picked{}, err
	}
	at, err := p.openPicking(ctx)
	if err != nil {
		return job.Picked{}, err
	}
	picked, err := at.all(ctx, c.Picks)
	if err != nil {
		err = blame(p.whose(job.New), p.partial(ctx, err))
	}
	picked.Held = picked.Kind == job.PickConflicts && p.leadsTo(ctx, picked.Commit, p.Old.SHA)
	if closeErr := at.close(err == nil && picked.SHA != ""); err == nil {
		err = closeErr
	}
	if err != nil {
		return job.Picked{}, err
	}
	if picked.SHA != "" {
		p.New, p.picked = Commit{SHA: picked.SHA, Ref: job.New.WordOn(p.Old.Ref), tree: picked.SHA}, true
	}
	return picked, nil
}

// leadsTo tells whether what is here of the history shows that a commit is an
// ancestor of another.
func (p *Pair) leadsTo(ctx context.Context, commit, to string) bool {
	_, err := p.git.run(ctx, "merge-base", "--is-ancestor", commit, to)
	return err == nil
}

// partial says what to do where a pick failed in a clone that lacks files: they
// are fetched by nothing that works on the clone's objects alone.
func (p *Pair) partial(ctx context.Context, cause error) error {
	var failed *gitError
	if !p.git.own || !errors.As(cause, &failed) {
		return cause
	}
	if out, err := p.git.line(ctx, "config", "--get-regexp", `^(remote\..*\.promisor|extensions\.partialclone)$`); err != nil || out == "" {
		return cause
	}
	return refuse(Gone, job.New, "", "the change cannot be picked in a partial clone (%v); to have all files: git fetch --refetch --no-filter", cause)
}

// picking is a repository of our own whose HEAD goes from a line's tip to the
// picked commit. It has the objects of the pair and no configuration, and its
// working tree holds the .gitattributes files alone, from which git takes how
// files are merged: nothing else of the line is written.
type picking struct {
	git
	tree      string // the folder that git works in
	tip, head commitTree
}

type commitTree struct{ commit, tree string }

const (
	pickGit  = "pick.git"
	pickTree = "pick"
)

// openPicking makes the repository at the pair's old side.
func (p *Pair) openPicking(ctx context.Context) (*picking, error) {
	at := &picking{tree: filepath.Join(p.scratch, pickTree)}
	at.git = git{dir: filepath.Join(p.scratch, pickGit), cwd: at.tree, env: p.git.env, limits: p.limits, writes: p.scratch}
	at.set = []string{"core.sparseCheckout=true", "core.sparseCheckoutCone=false", "core.logAllRefUpdates=false", "core.quotePath=true",
		"commit.gpgSign=false", "rerere.enabled=false", "merge.renames=true", "i18n.commitEncoding=UTF-8"}
	if err := at.close(false); err != nil {
		return nil, err
	}
	if err := os.Mkdir(at.tree, 0o700); err != nil {
		return nil, fmt.Errorf("make a folder to pick in: %w", err)
	}
	format := "sha1"
	if len(p.Old.SHA) == 64 {
		format = "sha256"
	}
	if _, err := at.run(ctx, "init", "--quiet", "--template=", "--object-format="+format); err != nil {
		return nil, fmt.Errorf("make a repository to pick in: %w", err)
	}
	info := filepath.Join(at.dir, "info")
	if err := errors.Join(os.MkdirAll(info, 0o700), os.WriteFile(filepath.Join(info, "sparse-checkout"), []byte(".gitattributes\n"), 0o600)); err != nil {
		return nil, fmt.Errorf("make a repository to pick in: %w", err)
	}
	at.git = at.with("GIT_WORK_TREE=" + at.tree)
	if err := at.move(ctx, p.Old.SHA); err != nil {
		return nil, err
	}
	if _, err := at.run(ctx, "read-tree", "--reset", "-u", "HEAD"); err != nil {
		return nil, fmt.Errorf("begin at the tip of %s: %w", p.Old.Ref, err)
	}
	at.tip = at.head
	return at, nil
}

// close removes the working tree and, where it is not to be kept, the repository.
func (at *picking) close(keep bool) error {
	err := os.RemoveAll(at.tree)
	if !keep {
		err = errors.Join(err, os.RemoveAll(at.dir))
	}
	if err != nil {
		return fmt.Errorf("clear the place to pick in: %w", err)
	}
	return nil
}

// move lets HEAD name another commit, without touching the index.
func (at *picking) move(ctx context.Context, sha string) error {
	if _, err := at.run(ctx, "update-ref", "--no-deref", "HEAD", sha); err != nil {
		return fmt.Errorf("begin at %s: %w", sha, err)
	}
	return at.look(ctx)
}

// look reads where HEAD is.
func (at *picking) look(ctx context.Context) error {
	out, err := at.line(ctx, "rev-parse", "HEAD^{commit}", "HEAD^{tree}")
	if err != nil {
		return fmt.Errorf("look at what was picked: %w", err)
	}
	at.head.commit, at.head.tree, _ = strings.Cut(out, "\n")
	return nil
}

// all puts the picks on, one after the other.
func (at *picking) all(ctx context.Context, picks []job.Pick) (job.Picked, error) {
	var skipped []string
	for _, pick := range picks {
		before := at.head
		conflict, err := at.one(ctx, pick)
		if err != nil {
			return job.Picked{}, err
		}
		if conflict != nil {
			conflict.Skipped = skipped
			return *conflict, nil
		}
		if at.head.tree == before.tree {
			skipped = append(skipped, pick.SHA)
			if err := at.move(ctx, before.commit); err != nil {
				return job.Picked{}, err
			}
		}
	}
	out := job.Picked{Kind: job.PickApplies, Skipped: skipped}
	switch {
	case len(skipped) == len(picks):
		out.Kind = job.PickThere
		return out, nil
	case at.head.tree == at.tip.tree:
		out.Kind, out.Text = job.PickThere, "its commits take each other back: together they change nothing"
		return out, nil
	case len(skipped) > 0:
		out.Kind = job.PickAppliesInPart
	}
	out.SHA = at.head.commit
	var err error
	out.PatchID, err = at.patchID(ctx, at.tip.commit, out.SHA)
	return out, err
}

// one picks a commit. What conflicts is told by a Picked.
func (at *picking) one(ctx context.Context, pick job.Pick) (*job.Picked, error) {
	who, err := at.people(ctx, pick.SHA)
	if err != nil {
		return nil, err
	}
	g := at.with(who.committer()...)
	sha := pick.SHA
	if pick.Since != "" {
		out, err := g.with(who.author()...).feed(ctx, []byte(who.message), "commit-tree", "-p", pick.Since, pick.SHA+"^{tree}")
		if err != nil {
			return nil, fmt.Errorf("make one commit of %s..%s: %w", pick.Since, pick.SHA, err)
		}
		sha = strings.TrimSpace(string(out))
	}
	// An empty commit is kept for the moment, as its tree tells more surely than
	// git's words that it is one.
	args := []string{"cherry-pick", "--keep-redundant-commits", "--allow-empty-message"}
	if pick.Mainline > 0 {
		args = append(args, fmt.Sprintf("--mainline=%d", pick.Mainline))
	}
	_, err = g.run(ctx, append(args, sha)...)
	if err == nil {
		return nil, at.look(ctx)
	}
	var failed *gitError
	if !errors.As(err, &failed) {
		return nil, fmt.Errorf("pick %s: %w", pick.SHA, err)
	}
	files, listErr := at.unmerged(ctx)
	if listErr != nil {
		return nil, fmt.Errorf("pick %s: %w", pick.SHA, errors.Join(err, listErr))
	}
	if len(files) > 0 {
		return &job.Picked{Kind: job.PickConflicts, Commit: pick.SHA, Files: boundPaths(files), Text: pickWords(failed)}, nil
	}
	if said(err, "is a merge but no -m option", "does not have parent", "is not a merge") {
		return nil, refuse(BadRequest, job.New, "", "the commit %s cannot be picked: %s", pick.SHA, pickWords(failed))
	}
	return nil, fmt.Errorf("pick %s: %w", pick.SHA, err)
}

// unmerged lists the files in which a pick conflicts.
func (at *picking) unmerged(ctx context.Context) ([]string, error) {
	out, err := at.run(ctx, "ls-files", "--unmerged", "-z")
	if err != nil {
		return nil, err
	}
	entries, err := parseEntries(out)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, e := range entries {
		if n := len(files); n == 0 || files[n-1] != e.path { // git sorts them
			files = append(files, e.path)
		}
	}
	return files, nil
}

// patchID identifies a difference, whatever lies around it.
func (at *picking) patchID(ctx context.Context, from, to string) (string, error) {
	diff, err := at.run(ctx, "diff", "--no-ext-diff", "--no-textconv", "--no-color", "--full-index", from, to)
	if err != nil {
		return "", fmt.Errorf("compare %s with %s: %w", from, to, err)
	}
	out, err := at.feed(ctx, diff, "patch-id", "--stable")
	if err != nil {
		return "", fmt.Errorf("identify the difference of %s and %s: %w", from, to, err)
	}
	id, _, _ := strings.Cut(string(out), " ")
	return strings.TrimSpace(id), nil
}
