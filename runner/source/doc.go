// Package source brings the two commits of a comparison onto this machine and
// writes each into a plain directory that a sandbox may be given.
//
// Everything here runs outside the sandbox and before any foreign code: what is
// fetched is data. Commits come either from the forge (Fetch, for a runner) or
// from a local repository (Local, for bot compare). Both give a Pair, whose
// Plan lays the benchmark files of one side over both and whose Write fills an
// empty directory. No directory that Write fills holds a credential or a link
// to the repository that it came from.
//
// In a backport the old side is the tip of a release line, and the new one is
// made by Pick, which puts a change on it (Fetch with Request.Change for a
// runner, LocalLine for bot backport).
package source

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"regexp"
)

// Pair is two commits in one repository on this machine.
type Pair struct {
	Old, New Commit
	// Notes are facts for the report that were found on the way.
	Notes []string

	line    string // the release line of a backport; hostile text
	picked  bool   // New was made by Pick
	git     git
	scratch string // objects and indexes of our own; never the repository's
	objects string // the repository's own, which are only read
	modules moduleSource
	limits  Limits
	log     *slog.Logger
	// renew fetches everything anew into a mirror that was removed; nil for a
	// repository that is not ours.
	renew   func(context.Context) error
	settled bool // the credential is given back
}

// Commit is one side.
type Commit struct {
	SHA string // the commit; for a working tree the commit that it is based on
	Ref string // what people call it
	// tree is what is written: the commit, or a working tree's snapshot.
	tree string
}

// Close removes what the pair keeps beside the repository.
func (p *Pair) Close() error {
	if err := os.RemoveAll(p.scratch); err != nil {
		return fmt.Errorf("remove the scratch of a checkout: %w", err)
	}
	return nil
}

// newPair gives the pair a scratch folder, in which everything that git writes
// from now on lands.
func newPair(ctx context.Context, g git, in string) (*Pair, error) {
	scratch, err := os.MkdirTemp(in, "prbench-git-")
	if err != nil {
		return nil, fmt.Errorf("make a scratch folder for git: %w", err)
	}
	objects, err := g.line(ctx, "rev-parse", "--path-format=absolute", "--git-path", "objects")
	if err != nil {
		return nil, errors.Join(fmt.Errorf("find the objects of the repository: %w", err), os.RemoveAll(scratch))
	}
	if err := os.Mkdir(scratch+"/objects", 0o700); err != nil {
		return nil, errors.Join(fmt.Errorf("make a scratch folder for objects: %w", err), os.RemoveAll(scratch))
	}
	g = g.with("GIT_OBJECT_DIRECTORY="+scratch+"/objects", "GIT_ALTERNATE_OBJECT_DIRECTORIES="+quotePath(objects))
	g.writes = scratch
	return &Pair{git: g, scratch: scratch, objects: objects, limits: g.limits, log: slog.New(slog.DiscardHandler)}, nil
}

// quotePath writes a path for a list that is separated by colons, in git's C
// style, so that a folder with a colon in its name is not two.
func quotePath(p string) string {
	q := []byte{'"'}
	for i := range len(p) {
		if p[i] == '"' || p[i] == '\\' {
			q = append(q, '\\')
		}
		q = append(q, p[i])
	}
	return string(append(q, '"'))
}

var shaPattern = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)
