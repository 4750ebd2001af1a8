package webhook

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/prbench/prbench/internal/config"
	"github.com/prbench/prbench/internal/forge"
	"github.com/prbench/prbench/internal/job"
)

// maxLines bounds the lines of one backport: each is a job with a build of its own.
const maxLines = 20

// lineNames gives the branches that words stand for: a release line of the config,
// what stands before the first dash of exactly one, or a branch that the config
// does not list. No words stand for all release lines.
func lineNames(cfg *config.Repo, words []string) ([]string, error) {
	if len(words) == 0 {
		words = cfg.ReleaseLines
	}
	if len(words) == 0 {
		return nil, refuse("%s on the default branch has no key %s, so it is not known which lines there are. Name them: `%s %s LINE…`",
			code(config.RepoPath), code("release_lines"), Word, Backport)
	}
	var names []string
	for _, word := range words {
		name, err := lineName(cfg, word)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) > maxLines {
		return nil, refuse("%d lines are too many: one command may ask for %d. Name those that matter: `%s %s LINE…`", len(names), maxLines, Word, Backport)
	}
	return names, nil
}

func lineName(cfg *config.Repo, word string) (string, error) {
	if slices.Contains(cfg.ReleaseLines, word) {
		return word, nil
	}
	var short []string
	for _, line := range cfg.ReleaseLines {
		if before, _, dash := strings.Cut(line, "-"); dash && before == word && !slices.Contains(short, line) {
			short = append(short, line)
		}
	}
	switch len(short) {
	case 0:
		return word, nil
	case 1:
		return short[0], nil
	}
	return "", refuse("%s may be %s: please write the one that you mean", code(word), codes(short, "or"))
}

// pinLines gives the tip of each line, by its commit, so that the line may go on.
func pinLines(ctx context.Context, q asked, names []string) ([]job.Side, error) {
	var tips []job.Side
	var unknown []string
	for _, name := range names {
		ref, err := q.hub.ResolveRef(ctx, q.repo, "refs/heads/"+name) // a tag does not go on
		switch {
		case errors.Is(err, forge.ErrNoSuchRef), forge.Classify(err).Kind == forge.Refused:
			unknown = append(unknown, name)
		case err != nil:
			return nil, fmt.Errorf("resolve the line %s: %w", name, err)
		default:
			tips = append(tips, job.Side{SHA: ref.SHA, Ref: name})
		}
	}
	if len(unknown) > 0 {
		return nil, unknownLines(q.cfg, unknown)
	}
	return tips, nil
}

// holds tells whether the history of a line's tip holds a change: its last commit
// does not come without the others. What GitHub cannot tell is no.
func holds(ctx context.Context, q asked, tip string, c job.Change) (bool, error) {
	last := c.Picks[len(c.Picks)-1].SHA
	base, err := q.hub.MergeBase(ctx, q.repo, tip, last)
	if errors.Is(err, forge.ErrNoMergeBase) || forge.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for the change in the line's history: %w", err)
	}
	return base == last, nil
}

func unknownLines(cfg *config.Repo, unknown []string) error {
	is := "is no branch"
	if len(unknown) > 1 {
		is = "are no branches"
	}
	if len(cfg.ReleaseLines) == 0 {
		return refuse("%s %s of this repository, and %s has no key %s", codes(unknown, "and"), is, code(config.RepoPath), code("release_lines"))
	}
	return refuse("%s %s of this repository. Its release lines are %s", codes(unknown, "and"), is, codes(cfg.ReleaseLines, "and"))
}

// maxNamed bounds what one sentence lists.
const maxNamed = 2 * maxLines

// codes lists hostile names in a sentence.
func codes(names []string, last string) string {
	var out []string
	for i, name := range names {
		if i == maxNamed {
			out = append(out, fmt.Sprintf("%d more", len(names)-maxNamed))
			break
		}
		out = append(out, code(name))
	}
	if len(out) < 2 {
		return strings.Join(out, "")
	}
	return strings.Join(out[:len(out)-1], ", ") + " " + last + " " + out[len(out)-1]
}

// lineOfLabel gives the line that a label asks for by the config's pattern; empty:
// it asks for none.
func lineOfLabel(cfg *config.Repo, label string) string {
	if cfg == nil || cfg.BackportLabel == "" {
		return ""
	}
	before, after, _ := strings.Cut(cfg.BackportLabel, "*")
	rest, ok := strings.CutPrefix(label, before)
	if !ok {
		return ""
	}
	line, ok := strings.CutSuffix(rest, after)
	if !ok {
		return ""
	}
	return line
}
