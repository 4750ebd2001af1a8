package source

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/prbench/prbench/internal/job"
)

// pickDepth is how deep a picked commit is fetched: it is a change of its
// parent.
const pickDepth = 2

// pickRef keeps a commit that was fetched to be picked. As it is written last,
// it says that the commit's parents are there as well.
func pickRef(sha string) string { return "refs/prbench/pick/" + sha }

// bringPicks has the commits of a change in the mirror, each with what it is a
// change of. All are asked for at once; what the forge does not give by itself
// may come with the pull request's ref.
func (m mirror) bringPicks(ctx context.Context, r Request) error {
	want := pickedCommits(r.Change.Picks)
	missing, err := m.unbrought(ctx, want)
	if err != nil || len(missing) == 0 {
		return err
	}
	err = m.fetchPicks(ctx, r, missing)
	if isGone(err) && r.PR > 0 {
		pullErr := m.picksFromPull(ctx, r, missing)
		if pullErr != nil && !isGone(pullErr) {
			return m.git.unfetched(job.New, "change", pullErr)
		}
		if missing, err = m.unbrought(ctx, want); err == nil && len(missing) > 0 {
			err = m.fetchPicks(ctx, r, missing)
		}
	}
	if isGone(err) {
		return refuse(Gone, job.New, "", "the commit %s of the change is gone: %s", goneOf(err, missing), r.sources())
	}
	if err != nil {
		return m.git.unfetched(job.New, "change", err)
	}
	return m.arrived(ctx, r.Change.Picks)
}

func (r Request) sources() string {
	if r.PR > 0 {
		return fmt.Sprintf("neither the commit itself nor refs/pull/%d/head gives it", r.PR)
	}
	return "the repository does not give it"
}

// pickedCommits are those that picks name, each once.
func pickedCommits(picks []job.Pick) []string {
	var all []string
	for _, pick := range picks {
		all = append(all, pick.SHA)
		if pick.Since != "" {
			all = append(all, pick.Since)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func (m mirror) fetchPicks(ctx context.Context, r Request, commits []string) error {
	specs := make([]string, 0, len(commits))
	for _, sha := range commits {
		specs = append(specs, "+"+sha+":"+pickRef(sha))
	}
	return m.fetchDepth(ctx, pickDepth, r.CloneURL, specs...)
}

// picksFromPull takes what it can of the commits from refs/pull/N/head.
func (m mirror) picksFromPull(ctx context.Context, r Request, commits []string) error {
	pull := fmt.Sprintf("refs/prbench/pull/%d", r.PR)
	spec := fmt.Sprintf("+refs/pull/%d/head:%s", r.PR, pull)
	if err := m.fetchDepth(ctx, len(r.Change.Picks)+pullDepth, r.CloneURL, spec); err != nil {
		return err
	}
	for _, sha := range commits {
		if missing, err := m.git.lacking(ctx, []job.Pick{{SHA: sha}}); err != nil || len(missing) > 0 {
			if err != nil {
				return err
			}
			continue
		}
		if _, err := m.git.run(ctx, "merge-base", "--is-ancestor", sha, pull); err != nil {
			if ctx.Err() != nil {
				return err
			}
			continue
		}
		if _, err := m.git.run(ctx, "update-ref", pickRef(sha), sha); err != nil {
			return err
		}
	}
	return nil
}

// unbrought gives the commits that no ref of ours keeps.
func (m mirror) unbrought(ctx context.Context, commits []string) ([]string, error) {
	var in strings.Builder
	for _, sha := range commits {
		in.WriteString(pickRef(sha) + "\n")
	}
	out, err := m.git.feed(ctx, []byte(in.String()), "cat-file", "--batch-check")
	if err != nil {
		return nil, fmt.Errorf("look for the commits of a change: %w", err)
	}
	there := map[string]bool{}
	for line := range strings.Lines(string(out)) {
		if f := strings.Fields(line); len(f) == 3 && f[1] == "commit" {
			there[f[0]] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(commits), func(sha string) bool { return there[sha] }), nil
}

// arrived verifies what a fetch has brought.
func (m mirror) arrived(ctx context.Context, picks []job.Pick) error {
	missing, err := m.unbrought(ctx, pickedCommits(picks))
	if err == nil && len(missing) == 0 {
		missing, err = m.git.lacking(ctx, picks)
	}
	if err == nil && len(missing) > 0 {
		err = fmt.Errorf("%s did not arrive%s", missing[0], more(len(missing)-1))
	}
	if err != nil {
		return fmt.Errorf("fetch the change: %w", err)
	}
	return nil
}

// goneOf is the commit that git's error names, else the first.
func goneOf(err error, commits []string) string {
	var failed *gitError
	if errors.As(err, &failed) {
		for _, sha := range commits {
			if strings.Contains(failed.stderr, sha) {
				return sha
			}
		}
	}
	return commits[0]
}
