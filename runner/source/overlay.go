package source

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/prbench/prbench/internal/config"
	"github.com/prbench/prbench/internal/job"
)

// Plan is what each side's directory will hold.
type Plan struct {
	// Notes tell the report which benchmark files were exchanged.
	Notes []string
	// Extra are the benchmark files that only the head has and that the base's
	// side was given, sorted. A base may not build with them: see OldAlone.
	Extra []string

	old, oldAlone, new string // trees
	pure               string // the base's own
}

// OldAlone is the plan with the base's side as it is without Extra.
func (p Plan) OldAlone() Plan {
	p.old, p.Extra = p.oldAlone, nil
	return p
}

// BaseAlone tells whether the base's side holds nothing but what the base's commit
// does.
func (p Plan) BaseAlone() bool { return p.old == p.pure }

// entry is one line of a tree.
type entry struct {
	mode, object, path string
	size               int64 // of a file, in bytes, where a tree was walked
}

// Plan lays the benchmark files that match the globs over both sides: the base's
// on both, together with the ones that only the head has, or with
// job.HarnessHead the head's on both. It works on git's trees, before anything
// is written and without running anything, so no symbolic link that a pull
// request brings can lead a benchmark file elsewhere.
func (p *Pair) Plan(ctx context.Context, globs []string, from job.HarnessFrom) (Plan, error) {
	return mended(ctx, p, func() (Plan, error) { return p.plan(ctx, globs, from) })
}

func (p *Pair) plan(ctx context.Context, globs []string, from job.HarnessFrom) (Plan, error) {
	plan := Plan{old: p.Old.tree, oldAlone: p.Old.tree, new: p.New.tree, pure: p.Old.tree}
	if len(globs) == 0 {
		return plan, nil
	}
	oldAll, err := p.git.list(ctx, p.Old.tree, newTally(p.limits, p.whose(job.Old)))
	if err != nil {
		return Plan{}, err
	}
	newAll, err := p.git.list(ctx, p.New.tree, newTally(p.limits, p.whose(job.New)))
	if err != nil {
		return Plan{}, err
	}
	oldHarness, newHarness := matching(oldAll, globs), matching(newAll, globs)
	changed, onlyOld, onlyNew := compare(oldHarness, newHarness)

	if from == job.HarnessHead {
		if plan.old, err = p.retree(ctx, p.Old.tree, onlyOld, newHarness); err != nil {
			return Plan{}, blame(p.whose(job.Old), fmt.Errorf("lay the head's benchmark files over the base: %w", err))
		}
		plan.oldAlone = plan.old
		if n := slices.Concat(changed, onlyOld, onlyNew); len(n) > 0 {
			plan.Notes = append(plan.Notes, "harness changed by the pull request, the head's is used on both sides: "+names(n))
		}
		return plan, nil
	}

	if plan.new, err = p.retree(ctx, p.New.tree, nil, oldHarness); err != nil {
		return Plan{}, blame(p.whose(job.New), fmt.Errorf("lay the base's benchmark files over the head: %w", err))
	}
	extra := free(onlyNew, oldAll)
	var add []entry
	for _, e := range newHarness {
		if slices.Contains(extra, e.path) {
			add = append(add, e)
		}
	}
	if plan.old, err = p.retree(ctx, p.Old.tree, nil, add); err != nil {
		return Plan{}, blame(p.whose(job.Old), fmt.Errorf("lay the head's new benchmark files over the base: %w", err))
	}
	plan.Extra = extra
	if n := slices.Concat(changed, onlyOld); len(n) > 0 {
		plan.Notes = append(plan.Notes, "harness changed by the pull request, the base's is used on both sides: "+names(n))
	}
	if len(onlyNew) > 0 {
		plan.Notes = append(plan.Notes, "harness files that only the pull request has: "+names(onlyNew))
	}
	return plan, nil
}

// list gives the files of a tree, sorted by path as git sorts them, as far as
// they are within the tally's limits.
func (g git) list(ctx context.Context, tree string, t *tally) ([]entry, error) {
	var all []entry
	err := g.walk(ctx, tree, true, func(e entry) error {
		if e.mode != "040000" {
			all = append(all, e)
		}
		return cmp.Or(t.add(e), t.link(e))
	})
	if err != nil {
		return nil, blame(t.of, fmt.Errorf("list the files of %s: %w", t.of.the, err))
	}
	return all, nil
}

// parseEntries reads what ls-tree -z prints: "mode type object\tpath\0".
func parseEntries(out []byte) ([]entry, error) {
	var all []entry
	for rec := range bytes.SplitSeq(out, []byte{0}) {
		if len(rec) == 0 {
			continue
		}
		head, path, ok := strings.Cut(string(rec), "\t")
		f := strings.Fields(head)
		if !ok || len(f) != 3 {
			return nil, fmt.Errorf("list a tree: git printed %q", rec)
		}
		all = append(all, entry{mode: f[0], object: f[2], path: path})
	}
	return all, nil
}

func matching(all []entry, globs []string) []entry {
	var some []entry
	for _, e := range all {
		if slices.ContainsFunc(globs, func(g string) bool { return config.Match(g, e.path) }) {
			some = append(some, e)
		}
	}
	return some
}

// compare sorts the paths of two lists into those that differ and those that one
// list alone has.
func compare(a, b []entry) (changed, onlyA, onlyB []string) {
	in := make(map[string]entry, len(b))
	for _, e := range b {
		in[e.path] = e
	}
	for _, e := range a {
		other, ok := in[e.path]
		switch {
		case !ok:
			onlyA = append(onlyA, e.path)
		case other != e:
			changed = append(changed, e.path)
		}
		delete(in, e.path)
	}
	for path := range in {
		onlyB = append(onlyB, path)
	}
	slices.Sort(onlyB)
	return changed, onlyA, onlyB
}

// free gives the paths that can be added to a tree without taking another
// file's place: a file named as a folder of the tree would displace all of it.
func free(paths []string, tree []entry) []string {
	files, folders := map[string]bool{}, map[string]bool{}
	for _, e := range tree {
		files[e.path] = true
		for dir := filepath.Dir(e.path); dir != "."; dir = filepath.Dir(dir) {
			folders[dir] = true
		}
	}
	var ok []string
	for _, p := range paths {
		taken := folders[p]
		for dir := filepath.Dir(p); dir != "."; dir = filepath.Dir(dir) {
			taken = taken || files[dir]
		}
		if !taken {
			ok = append(ok, p)
		}
	}
	return ok
}

// retree gives the tree without the removed paths and with the entries put in
// their places.
func (p *Pair) retree(ctx context.Context, tree string, remove []string, put []entry) (string, error) {
	if len(remove)+len(put) == 0 {
		return tree, nil
	}
	var in bytes.Buffer
	for _, path := range remove {
		fmt.Fprintf(&in, "0 %s\t%s\x00", strings.Repeat("0", 40), path)
	}
	for _, e := range put {
		fmt.Fprintf(&in, "%s %s\t%s\x00", e.mode, e.object, e.path)
	}
	g := p.git.with("GIT_INDEX_FILE=" + filepath.Join(p.scratch, "index-overlay"))
	if _, err := g.run(ctx, "read-tree", tree); err != nil {
		return "", err
	}
	if _, err := g.feed(ctx, in.Bytes(), "update-index", "-z", "--index-info"); err != nil {
		return "", err
	}
	return g.line(ctx, "write-tree")
}

// maxNames bounds the paths in one note.
const maxNames = 8

func names(paths []string) string {
	quoted := make([]string, 0, maxNames)
	for _, p := range paths[:min(len(paths), maxNames)] {
		if q := strconv.Quote(p); q != `"`+p+`"` {
			p = q
		}
		quoted = append(quoted, p)
	}
	s := strings.Join(quoted, ", ")
	if len(paths) > maxNames {
		s += fmt.Sprintf(" and %d more", len(paths)-maxNames)
	}
	return s
}
