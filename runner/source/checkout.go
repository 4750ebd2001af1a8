package source

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/prbench/prbench/internal/job"
)

// Content says what a written directory holds beside the commit's files.
type Content struct {
	// History adds a repository of its own at .git, for builds that ask git about
	// the version; else there is no .git.
	History bool
	// LFS grants that pointers are replaced by the files that they stand for.
	LFS bool
}

// Write fills dir, which must not exist or be empty, with a side of the plan.
// What cannot be had (a submodule elsewhere, an LFS object) gives a *Refused.
// Notes for the report are returned.
func (p *Pair) Write(ctx context.Context, plan Plan, side job.SideName, dir string, c Content) ([]string, error) {
	tree, commit := plan.old, p.Old
	if side == job.New {
		tree, commit = plan.new, p.New
	}
	if tree == "" {
		return nil, errors.New("write a side: the plan is of another pair")
	}
	if err := emptyDir(dir); err != nil {
		return nil, err
	}
	return mended(ctx, p, func() ([]string, error) {
		if err := clearDir(dir); err != nil { // of what a first time has left
			return nil, err
		}
		notes, err := p.write(ctx, tree, commit.SHA, side, dir, c)
		return notes, blame(p.whose(side), err)
	})
}

func (p *Pair) write(ctx context.Context, tree, commit string, side job.SideName, dir string, c Content) ([]string, error) {
	of := p.whose(side)
	w := writer{pair: p, of: of, content: c, tally: newTally(p.limits, of)}
	index := filepath.Join(p.scratch, "index-"+string(side))
	if err := w.tree(ctx, p.git, p.modules, tree, dir, "", index, 0); err != nil {
		return nil, err
	}
	if c.History {
		if err := p.addHistory(ctx, dir, commit, index); err != nil {
			return nil, fmt.Errorf("give %s its history: %w", of.the, err)
		}
	}
	return w.notes, nil
}

func emptyDir(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make the folder of a checkout: %w", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("look into the folder of a checkout: %w", err)
	}
	if len(entries) > 0 {
		return fmt.Errorf("write a checkout: %s is not empty", dir)
	}
	return nil
}

func clearDir(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("clear the folder of a checkout: %w", err)
	}
	for _, e := range entries {
		if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
			return fmt.Errorf("clear the folder of a checkout: %w", err)
		}
	}
	return nil
}

// writer writes one side, its submodules included.
type writer struct {
	pair    *Pair
	of      whose
	content Content
	notes   []string
	modules int // submodules written so far
	tally   *tally
}

// tree writes one tree, which lies at prefix within the side's directory.
func (w *writer) tree(ctx context.Context, g git, src moduleSource, tree, dir, prefix, index string, depth int) error {
	if err := os.RemoveAll(index); err != nil {
		return fmt.Errorf("remove an old index: %w", err)
	}
	before := w.tally.size
	w.tally.prefix = prefix
	entries, err := g.list(ctx, tree, w.tally)
	if err != nil {
		return err
	}
	if err := w.pair.limits.fits(dir, len(entries), w.tally.size-before); err != nil {
		return fmt.Errorf("write %s: %w", w.of.the, err)
	}
	at := g.with("GIT_INDEX_FILE="+index, "GIT_WORK_TREE="+dir)
	at.writes = dir
	// read-tree runs no hook and changes no branch; unlike an archive it writes
	// every file that is tracked.
	if _, err := at.run(ctx, "-c", "core.sparseCheckout=false", "read-tree", "--reset", "-u", tree); err != nil {
		return fmt.Errorf("write the files of %s: %w", w.of.the, err)
	}
	if err := w.pointers(ctx, src, entries, dir, prefix); err != nil {
		return err
	}
	return w.submodules(ctx, g, src, tree, entries, dir, prefix, depth)
}

// inside gives the place of a tracked path below dir, having made sure that no
// part of it is a symbolic link.
func inside(dir, path string) (string, error) {
	if !filepath.IsLocal(path) {
		return "", fmt.Errorf("the path %q leads out of the tree", path)
	}
	at := dir
	for part := range strings.SplitSeq(path, "/") {
		at = filepath.Join(at, part)
		info, err := os.Lstat(at)
		if errors.Is(err, fs.ErrNotExist) {
			break
		}
		if err != nil {
			return "", fmt.Errorf("look at %q: %w", path, err)
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			return "", fmt.Errorf("the path %q leads through a symbolic link", path)
		}
	}
	return filepath.Join(dir, path), nil
}

// addHistory makes dir a repository of its own with everything that leads to
// the commit and the tags on it. Objects are copied, never linked: a build owns
// this directory, and must not reach the mirror through it.
func (p *Pair) addHistory(ctx context.Context, dir, sha, index string) error {
	g := git{dir: filepath.Join(dir, ".git"), own: p.git.own, env: []string{"GIT_WORK_TREE=" + dir}, limits: p.limits, writes: dir}
	if _, err := g.run(ctx, "init", "--quiet", "--template="); err != nil {
		return err
	}
	g.set = []string{"protocol.file.allow=always"}
	fetch := func(from, sha string, more ...string) error {
		args := append([]string{"fetch", "--quiet", "--no-write-fetch-head", "--update-shallow"}, more...)
		_, err := g.run(ctx, append(args, from, sha+":refs/heads/benchmarked")...)
		return err
	}
	if sha == p.New.SHA && p.picked {
		// The line's tip brings the tags, as the picked commit's repository has none.
		if err := fetch(p.git.dir, p.Old.SHA); err != nil {
			return err
		}
		from, err := p.pickedRepository(ctx)
		if err != nil {
			return err
		}
		if err := fetch(from, sha, "--no-tags"); err != nil {
			return err
		}
	} else if err := fetch(p.git.dir, sha); err != nil {
		return err
	}
	if _, err := g.run(ctx, "update-ref", "--no-deref", "HEAD", sha); err != nil {
		return err
	}
	data, err := os.ReadFile(index)
	if err != nil {
		return fmt.Errorf("read the index: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, ".git", "index"), data, 0o644); err != nil {
		return fmt.Errorf("write the index: %w", err)
	}
	return nil
}

// pickedRepository gives the repository in which was picked, made such that it
// can be fetched from: it is told where the objects are, and where the history
// that is here ends.
func (p *Pair) pickedRepository(ctx context.Context) (string, error) {
	dir := filepath.Join(p.scratch, pickGit)
	info := filepath.Join(dir, "objects", "info")
	objects := quotePath(p.objects) + "\n" + quotePath(filepath.Join(p.scratch, "objects")) + "\n"
	if err := errors.Join(os.MkdirAll(info, 0o700), os.WriteFile(filepath.Join(info, "alternates"), []byte(objects), 0o600)); err != nil {
		return "", fmt.Errorf("tell where the objects are: %w", err)
	}
	shallow, err := p.git.line(ctx, "rev-parse", "--path-format=absolute", "--git-path", "shallow")
	if err != nil {
		return "", fmt.Errorf("find the shallow ends: %w", err)
	}
	ends, err := os.ReadFile(shallow)
	if errors.Is(err, fs.ErrNotExist) {
		return dir, nil
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "shallow"), ends, 0o600)
	}
	if err != nil {
		return "", fmt.Errorf("copy the shallow ends: %w", err)
	}
	return dir, nil
}
