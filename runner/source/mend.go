package source

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/prbench/prbench/runner/disk"
)

// A power cut can empty what git took for written, and a disk can lose what was.
// What is in a mirror is nothing but a copy, so that a read which fails is no
// reason to give a job up: the mirror is removed and fetched once anew.

// mended does what reads a pair, and once more where a mirror did not give what
// it should hold. do begins from nothing each time.
func mended[T any](ctx context.Context, p *Pair, do func() (T, error)) (T, error) {
	for healed := map[string]bool{}; ; {
		out, err := do()
		dir := p.unreadable(ctx, err)
		if dir == "" || healed[dir] {
			return out, err
		}
		healed[dir] = true
		p.log.Warn("a mirror does not give what it should hold; it is fetched anew", "mirror", filepath.Base(dir), "error", err)
		if dropErr := os.RemoveAll(dir); dropErr != nil {
			return out, errors.Join(err, fmt.Errorf("remove a broken mirror: %w", dropErr))
		}
		if dir != p.git.dir {
			continue // who needs a submodule's fetches it
		}
		if renewErr := p.renew(ctx); renewErr != nil {
			return out, fmt.Errorf("%w (before that: %w)", renewErr, err)
		}
	}
}

// unreadable gives the mirror that may be to blame for an error, empty where it
// has another reason or the repository is not ours.
func (p *Pair) unreadable(ctx context.Context, err error) string {
	var failed *gitError
	var refused *Refused
	switch {
	case p.renew == nil || ctx.Err() != nil || errors.Is(err, disk.ErrLow):
		return ""
	case errors.As(err, &refused) && refused.Kind == Gone:
		return p.git.dir // it had arrived
	case !errors.As(err, &failed):
		return ""
	}
	if name := filepath.Base(failed.dir); filepath.Dir(failed.dir) == filepath.Dir(p.git.dir) && strings.HasPrefix(name, modulePrefix) {
		return failed.dir
	}
	return p.git.dir
}

// mended does what brings something into the mirror, and once more where it is
// the mirror that cannot be worked with. The words are git's own, in the C locale.
func (m mirror) mended(ctx context.Context, log *slog.Logger, do func() error) error {
	err := do()
	if ctx.Err() != nil || errors.Is(err, disk.ErrLow) || !said(err, "not a git repository", "bad object", "bad tree object", "bad config", "does not point to a valid object",
		"reference broken", "unable to read", "Could not read", "could not read", "cannot read", "is corrupt", "is empty", "missing blob", "missing tree", "missing commit",
		"could not parse", "unable to parse", "unable to unpack", "inflate", "traverse parents", "send all necessary objects", "packfile", "shallow file", "bad shallow") {
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
