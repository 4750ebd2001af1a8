package source

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/prbench/prbench/internal/job"
)

// LocalRequest names two commits of a repository on this machine.
type LocalRequest struct {
	Repo string // any folder of the repository
	Base string // a ref
	// Head is a ref, or "." for the working tree as it is: tracked and untracked
	// files, without the ignored ones.
	Head string
	// BaseExact compares with Base itself, not with its merge base with Head.
	BaseExact bool
	// Limits bound what is written of the two.
	Limits Limits
	// Scratch is where temporary files go; empty: the system's place.
	Scratch string
}

// WorkingTree is the Head that stands for the working tree.
const WorkingTree = "."

// Local finds the two commits. It changes nothing in the repository, except that
// a shallow clone is deepened where the merge base needs it.
func Local(ctx context.Context, r LocalRequest) (_ *Pair, err error) {
	g, top, err := openLocal(ctx, r.Repo)
	if err != nil {
		return nil, err
	}
	headRef := r.Head
	if r.Head == WorkingTree {
		headRef = "HEAD"
		if top == "" {
			return nil, refuse(BadRequest, job.New, "", "%s is a bare repository and has no working tree; name a head", r.Repo)
		}
	}
	base, err := resolve(ctx, g, job.Old, r.Base)
	if err != nil {
		return nil, err
	}
	head, err := resolve(ctx, g, job.New, headRef)
	if err != nil {
		return nil, err
	}
	var notes []string
	if !r.BaseExact {
		tip := base
		var deepened bool
		if base, deepened, err = mergeBase(ctx, g, r.Base, r.Head, " (to compare them all the same: --base-exact)", base, head); err != nil {
			return nil, err
		}
		if deepened {
			notes = append(notes, "the clone was shallow and has been deepened to find the merge base")
		}
		if base != tip {
			notes = append(notes, fmt.Sprintf("the base is the merge base of %s and %s", r.Base, r.Head))
		}
	}
	dirs, err := gitDirs(ctx, g)
	if err != nil {
		return nil, err
	}
	g.limits = r.Limits
	p, err := newPair(ctx, g, r.Scratch)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.Close())
		}
	}()
	p.Notes = notes
	p.modules = &localModules{gitDirs: dirs}
	p.Old = Commit{SHA: base, Ref: r.Base, tree: base}
	p.New = Commit{SHA: head, Ref: r.Head, tree: head}
	if r.Head == WorkingTree {
		if err := p.snapshot(ctx, top); err != nil {
			return nil, fmt.Errorf("take a snapshot of the working tree: %w", err)
		}
	}
	return p, nil
}

// openLocal finds the repository and the top of its working tree, empty for a
// bare one.
func openLocal(ctx context.Context, repo string) (git, string, error) {
	abs, err := filepath.Abs(repo)
	if err != nil {
		return git{}, "", fmt.Errorf("find %s: %w", repo, err)
	}
	ask := func(what string) (string, error) {
		g := git{own: true}
		cmd := exec.CommandContext(ctx, "git", "-C", abs, "rev-parse", what)
		cmd.Env = g.environ()
		out, err := cmd.Output()
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			return "", fmt.Errorf("%s", strings.TrimSpace(string(exit.Stderr)))
		}
		return strings.TrimRight(string(out), "\n"), err
	}
	if info, err := os.Stat(abs); err != nil || !info.IsDir() {
		return git{}, "", refuse(BadRequest, "", "", "%s is no folder", repo)
	}
	dir, err := ask("--absolute-git-dir")
	if err != nil {
		return git{}, "", refuse(BadRequest, "", "", "%s is no git repository: %v", repo, err)
	}
	bare, err := ask("--is-bare-repository")
	if err != nil {
		return git{}, "", fmt.Errorf("look at %s: %w", repo, err)
	}
	g := git{dir: dir, own: true}
	if bare == "true" {
		return g, "", nil
	}
	top, err := ask("--show-toplevel")
	if err != nil {
		return git{}, "", fmt.Errorf("look at %s: %w", repo, err)
	}
	return g, top, nil
}

func gitDirs(ctx context.Context, g git) ([]string, error) {
	common, err := g.line(ctx, "rev-parse", "--path-format=absolute", "--git-common-dir")
	if err != nil {
		return nil, fmt.Errorf("find the repository's own folder: %w", err)
	}
	if common == g.dir {
		return []string{common}, nil
	}
	return []string{g.dir, common}, nil
}

func resolve(ctx context.Context, g git, side job.SideName, ref string) (string, error) {
	if ref == "" || strings.HasPrefix(ref, "-") {
		return "", refuse(BadRequest, side, "", "want a branch, a tag or a commit, got %q", ref)
	}
	sha, err := g.line(ctx, "rev-parse", "--verify", "--quiet", ref+"^{commit}")
	if ctx.Err() != nil {
		return "", err
	}
	if err != nil || !shaPattern.MatchString(sha) {
		return "", refuse(BadRequest, side, "", "%q is no commit of this repository", ref)
	}
	return sha, nil
}

// mergeBase finds the merge base, deepening a shallow clone as far as needed.
// The refs are what people call the two, and advice is for those that have none.
func mergeBase(ctx context.Context, g git, baseRef, headRef, advice, base, head string) (sha string, deepened bool, err error) {
	find := func() bool {
		out, err := g.line(ctx, "merge-base", base, head)
		sha = out
		return err == nil && shaPattern.MatchString(out)
	}
	if find() {
		return sha, false, nil
	}
	if ctx.Err() != nil {
		return "", false, context.Cause(ctx)
	}
	shallow, err := g.line(ctx, "rev-parse", "--is-shallow-repository")
	if err != nil {
		return "", false, fmt.Errorf("look for the merge base: %w", err)
	}
	if shallow != "true" {
		return "", false, refuse(NoMergeBase, "", "", "%s and %s have no common ancestor%s", baseRef, headRef, advice)
	}
	failed, err := deepenUntil(ctx, g, find)
	if err != nil {
		return "", false, err
	}
	if failed == "" {
		return sha, true, nil
	}
	return "", false, refuse(NoMergeBase, "", "", "no common ancestor of %s and %s: the clone is shallow, and %s", baseRef, headRef, failed)
}

// deepenUntil fetches ever more of what a shallow clone lacks, until that is
// enough. Where nothing is left to fetch it tells in words that it failed.
func deepenUntil(ctx context.Context, g git, enough func() bool) (failed string, err error) {
	remote, err := pickRemote(ctx, g)
	if err != nil {
		return "", err
	}
	if remote == "" {
		return "it has no remote to deepen it from", nil
	}
	why := ""
	for _, step := range []string{"--deepen=50", "--deepen=200", "--deepen=1000", "--unshallow"} {
		if err := deepen(ctx, g, remote, step); err != nil {
			if ctx.Err() != nil {
				return "", err
			}
			why = ": " + err.Error()
			continue
		}
		if enough() {
			return "", nil
		}
	}
	return fmt.Sprintf("deepening it from %s did not bring it%s", remote, why), nil
}

// pickRemote gives the remote that is fetched from, empty where there is none.
func pickRemote(ctx context.Context, g git) (string, error) {
	out, err := g.line(ctx, "remote")
	if err != nil {
		return "", fmt.Errorf("list the remotes: %w", err)
	}
	remotes := strings.Fields(out)
	for _, r := range remotes {
		if r == "origin" {
			return r, nil
		}
	}
	if len(remotes) == 0 {
		return "", nil
	}
	return remotes[0], nil
}

// deepen fetches more of what lies below the clone's shallow ends. They are
// named one by one, as the branches that git would fetch by itself may not lead
// to a pull request's commits.
func deepen(ctx context.Context, g git, remote, step string) error {
	args := []string{"fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--recurse-submodules=no", step, remote}
	file, err := g.line(ctx, "rev-parse", "--path-format=absolute", "--git-path", "shallow")
	if err != nil {
		return err
	}
	ends, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // whole by now
	}
	if err != nil {
		return fmt.Errorf("read the shallow ends: %w", err)
	}
	if _, err := g.run(ctx, append(args, strings.Fields(string(ends))...)...); err == nil || ctx.Err() != nil {
		return err
	}
	_, err = g.run(ctx, args...)
	return err
}

// snapshot makes the working tree the new side. It works on a copy of the
// index and keeps new objects in the scratch folder, so the repository stays
// as it is.
func (p *Pair) snapshot(ctx context.Context, top string) error {
	index, err := p.git.line(ctx, "rev-parse", "--path-format=absolute", "--git-path", "index")
	if err != nil {
		return err
	}
	own := filepath.Join(p.scratch, "index-snapshot")
	if err := copyIndex(index, own); err != nil {
		return err
	}
	g := p.git.with("GIT_INDEX_FILE="+own, "GIT_WORK_TREE="+top)
	g.cwd = top
	if _, err := g.run(ctx, "-c", "advice.addEmbeddedRepo=false", "add", "--all"); err != nil {
		return err
	}
	if p.New.tree, err = g.line(ctx, "write-tree"); err != nil {
		return err
	}
	out, err := g.run(ctx, "diff-tree", "-r", "-z", "--name-only", "--no-renames", p.New.SHA, p.New.tree)
	if err != nil {
		return err
	}
	n := strings.Count(string(out), "\x00")
	p.Notes = append(p.Notes, fmt.Sprintf("the head is the working tree: %d files differ from %.12s", n, p.New.SHA))
	return nil
}

// copyIndex copies the index with its time. git looks into a file only when what
// the index knows of it (its time, its size) is as new as the index itself: by a
// copy with a newer time, a file that was changed within the clock's step after
// the index was written would pass for unchanged.
func copyIndex(from, to string) error {
	info, err := os.Stat(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // nothing was ever added
	}
	if err != nil {
		return fmt.Errorf("read the index: %w", err)
	}
	data, err := os.ReadFile(from)
	if err != nil {
		return fmt.Errorf("read the index: %w", err)
	}
	if err := os.WriteFile(to, data, 0o600); err != nil {
		return fmt.Errorf("copy the index: %w", err)
	}
	if err := os.Chtimes(to, info.ModTime(), info.ModTime()); err != nil {
		return fmt.Errorf("copy the index: %w", err)
	}
	return nil
}

// File reads a file of a commit in a repository on this machine, such as the
// repository's configuration. A file that is not there is fs.ErrNotExist.
func File(ctx context.Context, repo, ref, path string) ([]byte, error) {
	g, _, err := openLocal(ctx, repo)
	if err != nil {
		return nil, err
	}
	sha, err := resolve(ctx, g, "", ref)
	if err != nil {
		return nil, err
	}
	if !fs.ValidPath(path) || path == "." {
		return nil, fmt.Errorf("read %q in %s: %w", path, ref, fs.ErrNotExist)
	}
	out, err := g.run(ctx, "ls-tree", "-z", "--full-tree", sha, "--", path)
	if err != nil {
		return nil, fmt.Errorf("look for %s in %s: %w", path, ref, err)
	}
	entries, err := parseEntries(out)
	if err != nil {
		return nil, err
	}
	if len(entries) != 1 || entries[0].path != path || !strings.HasPrefix(entries[0].mode, "100") {
		return nil, fmt.Errorf("read %s in %s: %w", path, ref, fs.ErrNotExist)
	}
	data, err := g.run(ctx, "cat-file", "blob", entries[0].object)
	if err != nil {
		return nil, fmt.Errorf("read %s in %s: %w", path, ref, err)
	}
	return data, nil
}
