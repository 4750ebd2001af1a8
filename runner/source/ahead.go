package source

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
)

// Ahead tells how many commits of a repository on this machine lead to one
// commit and not to another, older one: what a release line has gained. It is -1
// where the older one is no part of the newer one's history, or is not there.
func Ahead(ctx context.Context, repo, older, newer string) (int, error) {
	g, _, err := openLocal(ctx, repo)
	if err != nil {
		return 0, err
	}
	missing, err := g.absent(ctx, []string{older, newer})
	if err != nil {
		return 0, err
	}
	if len(missing) > 0 {
		return -1, nil
	}
	if _, err := g.run(ctx, "merge-base", "--is-ancestor", older, newer); err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) && exit.ExitCode() == 1 {
			return -1, nil
		}
		return 0, fmt.Errorf("look for %s in the history of %s: %w", older, newer, err)
	}
	out, err := g.line(ctx, "rev-list", "--count", older+".."+newer)
	if err != nil {
		return 0, fmt.Errorf("count the commits from %s to %s: %w", older, newer, err)
	}
	n, err := strconv.Atoi(out)
	if err != nil {
		return 0, fmt.Errorf("count the commits from %s to %s: %w", older, newer, err)
	}
	return n, nil
}
