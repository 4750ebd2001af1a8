package source

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/prbench/prbench/internal/job"
)

// LocalChange resolves commits of a repository on this machine to a change that
// can be put on a line. It takes one commit, or a range as git writes it: A..B,
// the commits that lead to B and not to A, oldest first; of a merge commit, what
// it merged into its first parent. A range with merges in it becomes one commit,
// from the merge base of A and B to B. The change's note says which it is. A
// shallow clone is deepened as far as that needs; else nothing changes in the
// repository. What cannot be resolved gives a *Refused.
func LocalChange(ctx context.Context, repo, commits string) (job.Change, error) {
	g, _, err := openLocal(ctx, repo)
	if err != nil {
		return job.Change{}, err
	}
	from, to, isRange := strings.Cut(commits, "..")
	if !isRange {
		return g.singleChange(ctx, commits)
	}
	if strings.Contains(commits, "...") {
		return job.Change{}, refuse(BadRequest, job.New, "", "want one commit or a range A..B, got %q", commits)
	}
	if from == "" {
		from = "HEAD"
	}
	if to == "" {
		to = "HEAD"
	}
	return g.rangeChange(ctx, from, to)
}

func (g git) singleChange(ctx context.Context, ref string) (job.Change, error) {
	sha, err := resolve(ctx, g, job.New, ref)
	if err != nil {
		return job.Change{}, err
	}
	parents, err := g.parents(ctx, []string{sha})
	if err != nil {
		return job.Change{}, err
	}
	pick, note := job.Pick{SHA: sha}, "the commit "+short(sha)
	if len(parents[sha]) > 1 {
		pick.Mainline, note = 1, "the merge commit "+short(sha)+", against its first parent"
	}
	change := job.Change{Picks: []job.Pick{pick}, Note: note}
	return change, g.complete(ctx, change)
}

func (g git) rangeChange(ctx context.Context, from, to string) (job.Change, error) {
	a, err := resolve(ctx, g, job.New, from)
	if err != nil {
		return job.Change{}, err
	}
	b, err := resolve(ctx, g, job.New, to)
	if err != nil {
		return job.Change{}, err
	}
	base, _, err := mergeBase(ctx, g, from, to, "", a, b)
	if err != nil {
		return job.Change{}, err
	}
	out, err := g.line(ctx, "rev-list", "--reverse", "--topo-order", "--parents", a+".."+b)
	if err != nil {
		return job.Change{}, fmt.Errorf("list the commits of %s..%s: %w", from, to, err)
	}
	change := job.Change{}
	merges := 0
	for line := range strings.Lines(out) {
		f := strings.Fields(line)
		change.Picks = append(change.Picks, job.Pick{SHA: f[0]})
		if len(f) > 2 {
			merges++
		}
	}
	n := len(change.Picks)
	switch {
	case n == 0:
		return job.Change{}, refuse(BadRequest, job.New, "", "%s..%s holds no commit: all of %s is in %s", from, to, to, from)
	case merges > 0:
		change.Picks = []job.Pick{{SHA: b, Since: base}}
		change.Note = fmt.Sprintf("the %d commits %s..%s as one, as there are merges among them", n, short(base), short(b))
	case n > job.MaxPicks:
		return job.Change{}, refuse(BadRequest, job.New, "", "%s..%s holds %d commits, more than %d", from, to, n, job.MaxPicks)
	case n == 1:
		change.Note = "the commit " + short(b)
	default:
		change.Note = fmt.Sprintf("the %d commits %s..%s", n, short(base), short(b))
	}
	return change, g.complete(ctx, change)
}

func short(sha string) string { return sha[:7] }

// complete has all that a change needs in the repository, deepening a shallow
// clone where that is missing.
func (g git) complete(ctx context.Context, c job.Change) error {
	missing, err := g.lacking(ctx, c.Picks)
	if err != nil || len(missing) == 0 {
		return err
	}
	gone := func(why string) error {
		return refuse(Gone, job.New, "", "the commit %s, which the change needs, is not in the repository%s", missing[0], why)
	}
	shallow, err := g.line(ctx, "rev-parse", "--is-shallow-repository")
	if err != nil {
		return fmt.Errorf("look for the commits of a change: %w", err)
	}
	if shallow != "true" {
		return gone("")
	}
	var lackErr error
	failed, err := deepenUntil(ctx, g, func() bool {
		missing, lackErr = g.lacking(ctx, c.Picks)
		return lackErr != nil || len(missing) == 0
	})
	if err = errors.Join(err, lackErr); err != nil || failed == "" {
		return err
	}
	return gone(": the clone is shallow, and " + failed)
}

// LocalTip gives the present tip of a release line in a repository on this
// machine. A line is a branch or any other ref; one that is only known of a
// remote is found there. What is no commit gives a *Refused.
func LocalTip(ctx context.Context, repo, line string) (job.Side, error) {
	g, _, err := openLocal(ctx, repo)
	if err != nil {
		return job.Side{}, err
	}
	sha, err := resolve(ctx, g, job.Old, line)
	var refused *Refused
	if errors.As(err, &refused) && line != "" && !strings.HasPrefix(line, "-") {
		if remote, remoteErr := pickRemote(ctx, g); remoteErr == nil && remote != "" {
			if there, thereErr := resolve(ctx, g, job.Old, "refs/remotes/"+remote+"/"+line); thereErr == nil {
				sha, err = there, nil
			}
		}
	}
	if err != nil {
		return job.Side{}, err
	}
	return job.Side{SHA: sha, Ref: line}, nil
}

// LineRequest names the tip of a release line in a repository on this machine.
type LineRequest struct {
	Repo string   // any folder of the repository
	Tip  job.Side // see LocalTip
	// Scratch is where temporary files go; empty: the system's place.
	Scratch string
}

// LocalLine gives a pair whose old side is the tip of a line, for Pick to make
// the new one. It changes nothing in the repository.
func LocalLine(ctx context.Context, r LineRequest) (*Pair, error) {
	g, _, err := openLocal(ctx, r.Repo)
	if err != nil {
		return nil, err
	}
	if !shaPattern.MatchString(r.Tip.SHA) {
		return nil, refuse(BadRequest, job.Old, "", "want a full commit id, got %q", r.Tip.SHA)
	}
	missing, err := g.absent(ctx, []string{r.Tip.SHA})
	if err != nil {
		return nil, err
	}
	if len(missing) > 0 {
		return nil, refuse(Gone, job.Old, "", "the commit %s, the tip of %s, is not in the repository", r.Tip.SHA, names([]string{r.Tip.Ref}))
	}
	dirs, err := gitDirs(ctx, g)
	if err != nil {
		return nil, err
	}
	p, err := newPair(ctx, g, r.Scratch)
	if err != nil {
		return nil, err
	}
	p.modules, p.line = &localModules{gitDirs: dirs}, r.Tip.Ref
	p.Old = Commit{SHA: r.Tip.SHA, Ref: r.Tip.Ref, tree: r.Tip.SHA}
	return p, nil
}

// Repick puts a change on the tip of a line once more, in a repository on this
// machine, and tells how that went: what a record of a backport says can be
// verified by it. Nothing is measured or kept. A commit that the repository does
// not have gives a *Refused of the kind Gone.
func Repick(ctx context.Context, repo string, c job.Change, tip job.Side) (picked job.Picked, err error) {
	dir, err := os.MkdirTemp("", "prbench-pick-")
	if err != nil {
		return picked, fmt.Errorf("make a folder to pick in: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	p, err := LocalLine(ctx, LineRequest{Repo: repo, Tip: tip, Scratch: dir})
	if err != nil {
		return picked, err
	}
	return p.Pick(ctx, c)
}
