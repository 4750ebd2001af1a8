package source

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/prbench/prbench/runner/disk"
)

// A power cut can empty what git took for written, and a disk can lose what was.
// What is in a mirror is nothing but a copy, so that a read which fails is no
// reason to give a job up: the mirror is removed and fetched once anew. Where
// that changes nothing, what was fetched is to blame.

// mended does what reads a pair, and once more where a mirror did not give what
// it should hold. do begins from nothing each time.
func mended[T any](ctx context.Context, p *Pair, do func() (T, error)) (T, error) {
	for healed := map[string]string{}; ; {
		out, err := do()
		err = p.hopeless(err)
		dir := p.unreadable(ctx, err)
		if dir == "" {
			return out, err
		}
		words := gitWords(err)
		if before, ok := healed[dir]; ok {
			if words != "" && words == before {
				of := sideOf(err)
				err = refuse(Malformed, of.side, "", "git cannot work with %s, nor with a fresh copy of it: %v", of.the, err)
			}
			return out, err
		}
		healed[dir] = words
		p.log.Warn("a mirror does not give what it should hold; it is fetched anew", "mirror", filepath.Base(dir), "error", err)
		if dropErr := os.RemoveAll(dir); dropErr != nil {
			return out, errors.Join(err, fmt.Errorf("remove a broken mirror: %w", dropErr))
		}
		if dir != p.git.dir {
			continue // who needs a submodule's fetches it
		}
		if p.settled {
			return out, err // the next try finds no mirror, and fetches it with a credential of its own
		}
		if renewErr := p.renew(ctx); renewErr != nil {
			return out, fmt.Errorf("%w (before that: %w)", renewErr, err)
		}
	}
}

// Settle says that the credential is given back: from now on the repository is
// not fetched from. A mirror that turns out to be broken is then removed, for
// the next try, and what needed it fails.
func (p *Pair) Settle() { p.settled = true }

// hopeless refuses what no other try would mend: a side on which git works for
// too long, and one of which a name or a link is such as no disk takes.
func (p *Pair) hopeless(err error) error {
	of := sideOf(err)
	var late *tookTooLong
	var failed *gitError
	switch {
	case errors.As(err, &late) && !late.fetch:
		return refuse(TooLarge, of.side, "", "git works too long on %s: %v", of.the, err)
	case errors.As(err, &failed) && failed.unwritable():
		return refuse(Malformed, of.side, "", "git cannot write %s: %v", of.the, err)
	}
	return err
}

// sided is an error of the work on one side.
type sided struct {
	of  whose
	err error
}

func (s *sided) Error() string { return s.err.Error() }
func (s *sided) Unwrap() error { return s.err }

// blame names the side to which an error belongs.
func blame(of whose, err error) error {
	if err == nil {
		return nil
	}
	return &sided{of, err}
}

func sideOf(err error) whose {
	var s *sided
	if errors.As(err, &s) {
		return s.of
	}
	return whose{the: "what is compared"}
}

// gitWords is what tells one failure of git from another.
func gitWords(err error) string {
	var failed *gitError
	if !errors.As(err, &failed) {
		return ""
	}
	return failed.Error()
}

// unreadable gives the mirror that is to blame for an error, empty where it has
// another reason or the repository is not ours.
func (p *Pair) unreadable(ctx context.Context, err error) string {
	var failed *gitError
	var refused *Refused
	switch {
	case p.renew == nil || ctx.Err() != nil || errors.Is(err, disk.ErrLow):
		return ""
	case errors.As(err, &refused):
		if refused.Kind == Gone {
			return p.git.dir // it had arrived
		}
		return ""
	case !errors.As(err, &failed):
		return ""
	}
	if name := filepath.Base(failed.dir); filepath.Dir(failed.dir) == filepath.Dir(p.git.dir) && strings.HasPrefix(name, modulePrefix) {
		if failed.broken() {
			return failed.dir
		}
		return ""
	}
	if failed.broken() || p.lacksObjects(ctx) {
		return p.git.dir
	}
	return ""
}

// lacksObjects asks for every object that the two sides' trees name, where git
// failed without a word of what it could not read.
func (p *Pair) lacksObjects(ctx context.Context) bool {
	for _, tree := range []string{p.Old.tree, p.New.tree} {
		if tree == "" {
			continue
		}
		var failed *gitError
		if err := p.git.walk(ctx, tree, true, newTally(p.limits, whose{}).add); errors.As(err, &failed) && failed.broken() {
			return true
		}
	}
	return false
}

// brokenWords are git's own, in the C locale, for a repository whose objects,
// packs or refs it cannot work with.
var brokenWords = []string{"not a git repository", "bad object", "bad tree object", "bad config", "does not point to a valid object",
	"reference broken", "unable to read", "Could not read", "could not read", "cannot read", "is corrupt", "is empty", "missing blob", "missing tree", "missing commit",
	"could not parse", "unable to parse", "unable to unpack", "failed to unpack", "not a tree object", "not a valid object", "inflate", "traverse parents", "send all necessary objects", "packfile", "shallow file", "bad shallow",
	brokenObject}

// brokenObject is what we say ourselves of an object whose size git cannot tell.
const brokenObject = "is missing or broken"

// otherWords are of another matter than a repository: of who may read it.
var otherWords = []string{"could not read Username", "could not read Password", "Could not read from remote repository", "askpass", "remote error:"}

// broken tells whether git said that the repository it works on is to blame.
func (e *gitError) broken() bool {
	holds := func(line string) func(string) bool {
		return func(text string) bool { return strings.Contains(line, text) }
	}
	for line := range e.lines {
		if slices.ContainsFunc(brokenWords, holds(line)) && !slices.ContainsFunc(otherWords, holds(line)) {
			return true
		}
	}
	return false
}

// unwritable tells whether git was given a name or a link that the system takes
// nowhere, such as a link whose target begins with a zero byte.
func (e *gitError) unwritable() bool {
	for line := range e.lines {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "error: invalid path '") ||
			strings.Contains(line, "unable to create") && strings.HasSuffix(line, "File name too long") ||
			strings.Contains(line, "unable to create symlink") && strings.HasSuffix(line, "No such file or directory") {
			return true
		}
	}
	return false
}

// mended does what brings something into the mirror, and once more where it is
// the mirror that cannot be worked with.
func (m mirror) mended(ctx context.Context, log *slog.Logger, do func() error) error {
	err := do()
	var failed *gitError
	if ctx.Err() != nil || errors.Is(err, disk.ErrLow) || !errors.As(err, &failed) || !failed.broken() {
		return err
	}
	log.Warn("a mirror cannot be worked with; it is fetched anew", "mirror", filepath.Base(m.git.dir), "error", err)
	if dropErr := os.RemoveAll(m.git.dir); dropErr != nil {
		return errors.Join(err, fmt.Errorf("remove a broken mirror: %w", dropErr))
	}
	if openErr := m.open(ctx); openErr != nil {
		return errors.Join(err, openErr)
	}
	return do()
}
