package source

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/prbench/prbench/internal/job"
)

// people are those who made a commit, with what they wrote. Names and text are
// in UTF-8 where the commit says what they are in.
type people struct {
	name, email, date       string // of the committer; dates in git's raw form
	byName, byEmail, byDate string // of the author
	message                 string
}

func (at *picking) people(ctx context.Context, sha string) (people, error) {
	out, err := at.run(ctx, "log", "--no-walk", "--no-show-signature", "--no-patch", "--encoding=UTF-8", "--date=raw",
		"--format=tformat:%cn%x00%ce%x00%cd%x00%an%x00%ae%x00%ad%x00%B", sha)
	if err != nil {
		return people{}, fmt.Errorf("read the commit %s: %w", sha, err)
	}
	f := strings.SplitN(strings.TrimSuffix(string(out), "\n"), "\x00", 7)
	if len(f) != 7 {
		return people{}, fmt.Errorf("read the commit %s: git printed %d of 7 fields", sha, len(f))
	}
	return people{name: f[0], email: f[1], date: f[2], byName: f[3], byEmail: f[4], byDate: f[5], message: f[6]}, nil
}

func (w people) committer() []string {
	return []string{"GIT_COMMITTER_NAME=" + named(w.name), "GIT_COMMITTER_EMAIL=" + w.email, "GIT_COMMITTER_DATE=@" + w.date}
}

func (w people) author() []string {
	return []string{"GIT_AUTHOR_NAME=" + named(w.byName), "GIT_AUTHOR_EMAIL=" + w.byEmail, "GIT_AUTHOR_DATE=@" + w.byDate}
}

// named is a name that git takes: it refuses one of which nothing is left when
// it has stripped what it does not let a name begin or end with.
func named(name string) string {
	left := strings.TrimFunc(name, func(r rune) bool { return r <= ' ' || strings.ContainsRune(`.,:;<>"\'`, r) })
	if left == "" {
		return "unknown"
	}
	return name
}

// MaxConflicts is how many files of a conflict are named.
const MaxConflicts = 50

// Bounds of what else is kept of a conflict.
const (
	maxPathLength = 1 << 10
	maxPickWords  = 4 << 10
)

func boundPaths(paths []string) []string {
	paths = paths[:min(len(paths), MaxConflicts)]
	for i, p := range paths {
		paths[i] = bound(p, maxPathLength)
	}
	return paths
}

// bound cuts a text at a number of bytes and makes it valid UTF-8.
func bound(s string, n int) string {
	if len(s) > n {
		s = s[:n] + "…"
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// pickWords is what git said of a pick that failed, without what it advises a
// person to do next and without the files that went well.
func pickWords(e *gitError) string {
	var kept []string
	for line := range strings.Lines(e.stdout + "\n" + e.stderr) {
		line = strings.TrimRight(line, "\n")
		if line != "" && !strings.HasPrefix(line, "hint:") && !strings.HasPrefix(line, "Auto-merging ") {
			kept = append(kept, line)
		}
	}
	return bound(strings.Join(kept, "\n"), maxPickWords)
}

// ready tells, by a *Refused, what keeps a change from being picked at all.
func (p *Pair) ready(ctx context.Context, c job.Change) error {
	if err := checkPicks(c.Picks); err != nil {
		return err
	}
	missing, err := p.git.lacking(ctx, c.Picks)
	if err != nil {
		return err
	}
	if len(missing) > 0 {
		return refuse(Gone, job.New, "", "the commit %s, which the change needs, is not there%s", missing[0], more(len(missing)-1))
	}
	return nil
}

// pickable walks through every tree that a pick compares.
func (p *Pair) pickable(ctx context.Context, picks []job.Pick) error {
	walk := func(side job.SideName, tree string) error {
		of := newTally(p.limits, p.whose(side))
		if err := p.git.walk(ctx, tree, false, of.add); err != nil {
			return blame(of.of, fmt.Errorf("look at the files of %s: %w", tree, err))
		}
		return nil
	}
	if err := walk(job.Old, p.Old.tree); err != nil {
		return err
	}
	compared, err := p.git.compared(ctx, picks)
	if err != nil {
		return err
	}
	slices.Sort(compared)
	for _, commit := range slices.Compact(compared) {
		if err := walk(job.New, commit); err != nil {
			return err
		}
	}
	return nil
}

func checkPicks(picks []job.Pick) error {
	if len(picks) == 0 || len(picks) > job.MaxPicks {
		return refuse(BadRequest, job.New, "", "want a change of 1 to %d commits, got %d", job.MaxPicks, len(picks))
	}
	for _, pick := range picks {
		for _, sha := range []string{pick.SHA, pick.Since} {
			if sha != "" && !shaPattern.MatchString(sha) || pick.SHA == "" {
				return refuse(BadRequest, job.New, "", "want a full commit id, got %q", sha)
			}
		}
		if pick.Mainline < 0 || pick.Mainline > 0 && pick.Since != "" {
			return refuse(BadRequest, job.New, "", "the commit %s has a mainline of %d", pick.SHA, pick.Mainline)
		}
	}
	return nil
}

// lacking gives the commits without which the picks cannot be picked and that
// are not there with their files.
func (g git) lacking(ctx context.Context, picks []job.Pick) ([]string, error) {
	need, err := g.compared(ctx, picks)
	if err != nil {
		return nil, err
	}
	return g.absent(ctx, need)
}

// compared gives the commits of picks, and those that they are a change of.
func (g git) compared(ctx context.Context, picks []job.Pick) ([]string, error) {
	var all []string
	for _, pick := range picks {
		all = append(all, pick.SHA)
	}
	parents, err := g.parents(ctx, all)
	if err != nil {
		return nil, err
	}
	var need []string
	for _, pick := range picks {
		need = append(need, pick.SHA)
		before := parents[pick.SHA]
		switch {
		case pick.Since != "":
			need = append(need, pick.Since)
		case pick.Mainline > 0 && pick.Mainline <= len(before):
			need = append(need, before[pick.Mainline-1])
		case len(before) > 0:
			need = append(need, before[0])
		}
	}
	return need, nil
}

// parents reads the parents of commits as they are written in them, whatever a
// shallow repository knows of it. What is not there has none.
func (g git) parents(ctx context.Context, commits []string) (map[string][]string, error) {
	out, err := g.feed(ctx, []byte(strings.Join(commits, "\n")+"\n"), "cat-file", "--batch")
	if err != nil {
		return nil, fmt.Errorf("read the commits of a change: %w", err)
	}
	return parseBatch(out)
}

// parseBatch reads what cat-file --batch prints: for each object a line
// "id type size" and its bytes, or a line that says that it is missing.
func parseBatch(out []byte) (map[string][]string, error) {
	parents := map[string][]string{}
	for len(out) > 0 {
		head, rest, ok := bytes.Cut(out, []byte("\n"))
		f := strings.Fields(string(head))
		if !ok || len(f) < 2 {
			return nil, fmt.Errorf("read the commits of a change: git printed %q", head)
		}
		out = rest
		if len(f) != 3 {
			continue // missing
		}
		size, err := strconv.Atoi(f[2])
		if err != nil || size < 0 || size >= len(rest) {
			return nil, fmt.Errorf("read the commits of a change: git printed %q", head)
		}
		if f[1] == "commit" {
			parents[f[0]] = parentLines(rest[:size])
		}
		out = rest[size+1:]
	}
	return parents, nil
}

// parentLines reads the parents out of a commit.
func parentLines(commit []byte) []string {
	var parents []string
	for line := range bytes.Lines(commit) {
		sha, ok := strings.CutPrefix(strings.TrimSuffix(string(line), "\n"), "parent ")
		switch {
		case ok && shaPattern.MatchString(sha):
			parents = append(parents, sha)
		case !bytes.HasPrefix(line, []byte("tree ")):
			return parents // they stand before everything else
		}
	}
	return parents
}

// absent gives those of the commits that are not there with their tree, each
// once.
func (g git) absent(ctx context.Context, commits []string) ([]string, error) {
	var in strings.Builder
	for _, c := range commits {
		in.WriteString(c + "^{tree}\n")
	}
	out, err := g.feed(ctx, []byte(in.String()), "cat-file", "--batch-check")
	if err != nil {
		return nil, fmt.Errorf("look for the commits of a change: %w", err)
	}
	answers := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if len(answers) != len(commits) {
		return nil, fmt.Errorf("look for the commits of a change: git answered %d times, asked %d times", len(answers), len(commits))
	}
	var missing []string
	seen := map[string]bool{}
	for i, a := range answers {
		f := strings.Fields(a)
		if (len(f) != 3 || f[1] != "tree") && !seen[commits[i]] {
			seen[commits[i]] = true
			missing = append(missing, commits[i])
		}
	}
	return missing, nil
}
