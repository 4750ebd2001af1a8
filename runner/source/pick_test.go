package source_test

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/runner/source"
)

// onLine puts picks on the tip of a line of a local repository. It makes sure
// that nothing changes in the repository and that a pick which ends in nothing
// leaves nothing.
func onLine(t *testing.T, r repo, line string, picks ...job.Pick) (job.Picked, *source.Pair) {
	t.Helper()
	tip, err := source.LocalTip(t.Context(), r.dir, line)
	if err != nil {
		t.Fatal(err)
	}
	before, scratch := contents(t, r.dir), t.TempDir()
	p, err := source.LocalLine(t.Context(), source.LineRequest{Repo: r.dir, Tip: tip, Scratch: scratch})
	if err != nil {
		t.Fatal(err)
	}
	picked, err := p.Pick(t.Context(), job.Change{Picks: picks})
	if err != nil {
		t.Fatalf("pick: %v", err)
	}
	if !maps.Equal(before, contents(t, r.dir)) {
		t.Error("the repository changed")
	}
	own, err := filepath.Glob(filepath.Join(scratch, "*"))
	if err != nil || len(own) != 1 {
		t.Fatalf("scratch: %v, %v", own, err)
	}
	missing(t, own[0], "pick")
	if picked.SHA == "" {
		missing(t, own[0], "pick.git")
		if p.New != (source.Commit{}) {
			t.Errorf("the new side is %+v", p.New)
		}
	} else if p.New.SHA != picked.SHA {
		t.Errorf("the new side is %+v, picked was %s", p.New, picked.SHA)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		if left, err := os.ReadDir(scratch); err != nil || len(left) > 0 {
			t.Errorf("left: %v, %v", left, err)
		}
	})
	return picked, p
}

// contents lists all files below a folder with what is in them.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if d.Type()&os.ModeSymlink != 0 {
			all[path], err = os.Readlink(path)
			return err
		}
		data, err := os.ReadFile(path)
		all[path] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// byHand does with plain git, in a clone, what Pick's documentation says, and
// gives the commit and its patch id.
func byHand(t *testing.T, r repo, line string, picks ...job.Pick) (sha, patchID string) {
	t.Helper()
	clone := repo{t, filepath.Join(t.TempDir(), "clone")}
	r.git("clone", "-q", "--no-checkout", r.dir, clone.dir)
	clone.git("fetch", "-q", "origin", "+refs/*:refs/all/*")
	script := `set -e
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
unset GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL GIT_AUTHOR_DATE
cd "$1"; TIP=$2; shift 2
git checkout -q --detach "$TIP"
while [ $# -gt 0 ]; do
	SHA=$1 N=$2 SINCE=$3; shift 3
	export GIT_COMMITTER_NAME="$(git log -1 --format=%cn $SHA)"
	export GIT_COMMITTER_EMAIL="$(git log -1 --format=%ce $SHA)"
	export GIT_COMMITTER_DATE="@$(git log -1 --format=%cd --date=raw $SHA)"
	if [ "$SINCE" != - ]; then
		SHA=$(git log -1 --format=tformat:%B $SHA | head -c -1 | GIT_AUTHOR_NAME="$(git log -1 --format=%an $SHA)" \
			GIT_AUTHOR_EMAIL="$(git log -1 --format=%ae $SHA)" GIT_AUTHOR_DATE="@$(git log -1 --format=%ad --date=raw $SHA)" \
			git commit-tree -p $SINCE "$SHA^{tree}")
	fi
	[ $N = 0 ] && M= || M="-m $N"
	if ! git cherry-pick --allow-empty-message $M $SHA >out 2>&1; then
		grep -q 'is now empty' out
		git cherry-pick --skip
	fi
	rm -f out
done
git rev-parse HEAD
git diff --full-index "$TIP" HEAD | git patch-id --stable | cut -d ' ' -f 1
`
	args := []string{clone.dir, r.git("rev-parse", line)}
	for _, p := range picks {
		since := p.Since
		if since == "" {
			since = "-"
		}
		args = append(args, p.SHA, string(rune('0'+p.Mainline)), since)
	}
	out := clone.shell(script, args...)
	f := strings.Fields(out)
	if len(f) < 1 {
		t.Fatalf("by hand: %q", out)
	}
	return f[0], strings.Join(f[1:], " ")
}

// applied picks, wants it to go on, and wants the same as by hand. It gives the
// folder of the picked side.
func applied(t *testing.T, r repo, line string, kind job.PickKind, picks ...job.Pick) (job.Picked, string) {
	t.Helper()
	picked, p := onLine(t, r, line, picks...)
	if picked.Kind != kind || picked.Commit != "" || len(picked.Files) > 0 {
		t.Fatalf("want %s, got %+v", kind, picked)
	}
	if sha, id := byHand(t, r, line, picks...); sha != picked.SHA || id != picked.PatchID || id == "" {
		t.Errorf("by hand: %s, patch id %s\ngot      %s, patch id %s", sha, id, picked.SHA, picked.PatchID)
	}
	_, dir, _ := written(t, p, nil, "", source.Content{})
	return picked, dir
}

func conflicts(t *testing.T, r repo, line, commit string, files []string, picks ...job.Pick) job.Picked {
	t.Helper()
	picked, _ := onLine(t, r, line, picks...)
	if picked.Kind != job.PickConflicts || picked.Commit != commit || !slices.Equal(picked.Files, files) || picked.SHA+picked.PatchID != "" {
		t.Fatalf("want a conflict of %s in %q, got %+v", commit, files, picked)
	}
	if !strings.Contains(picked.Text, "CONFLICT") || strings.Contains(picked.Text, "hint:") {
		t.Errorf("git's words: %s", picked.Text)
	}
	return picked
}

func there(t *testing.T, r repo, line string, picks ...job.Pick) job.Picked {
	t.Helper()
	picked, _ := onLine(t, r, line, picks...)
	if picked.Kind != job.PickThere || picked.SHA+picked.PatchID+picked.Commit != "" {
		t.Fatalf("want it to be there, got %+v", picked)
	}
	return picked
}

// lined is a repository whose main and line "v1.x" begin alike.
func lined(t *testing.T, files map[string]string) repo {
	r := newRepo(t, filepath.Join(t.TempDir(), "up"))
	r.commit("base", files)
	r.git("branch", "v1.x")
	return r
}

// on commits to a branch.
func (r repo) on(branch, message string, files map[string]string) string {
	r.t.Helper()
	r.git("checkout", "-q", branch)
	return r.commit(message, files)
}

func one(sha string) job.Pick { return job.Pick{SHA: sha} }

func TestACommitGoesOnALineAsByHand(t *testing.T) {
	r := lined(t, map[string]string{"a.txt": "1\n", "b.txt": "1\n"})
	sha := r.on("main", "change", map[string]string{"a.txt": "2\n"})
	r.on("v1.x", "elsewhere", map[string]string{"b.txt": "2\n"})
	_, dir := applied(t, r, "v1.x", job.PickApplies, one(sha))
	if got := read(t, dir, "a.txt") + read(t, dir, "b.txt"); got != "2\n2\n" {
		t.Errorf("the picked side holds %q", got)
	}
}

// mergedByCommit is a pull request that came in by a true merge commit.
func mergedByCommit(t *testing.T) (r repo, merge string, own []string) {
	r = lined(t, map[string]string{"base.txt": "1"})
	fork := r.git("rev-parse", "HEAD")
	r.commit("main moves", map[string]string{"other.txt": "x"})
	r.git("checkout", "-q", "-b", "pr", fork)
	own = append(own, r.commit("pr: part 1", map[string]string{"fast.txt": "a"}))
	own = append(own, r.commit("pr: part 2", map[string]string{"fast.txt": "b"}))
	r.git("checkout", "-q", "main")
	r.git("merge", "-q", "--no-ff", "-m", "Merge PR 42", "pr")
	return r, r.git("rev-parse", "HEAD"), own
}

func TestAMergeCommitGoesOnByItsMainlineOrByItsOwnCommits(t *testing.T) {
	r, merge, own := mergedByCommit(t)
	for name, picks := range map[string][]job.Pick{
		"-m 1":        {{SHA: merge, Mainline: 1}},
		"its commits": {one(own[0]), one(own[1])},
		"as one":      {{SHA: own[1], Since: r.git("merge-base", "pr", "main~1")}},
	} {
		_, dir := applied(t, r, "v1.x", job.PickApplies, picks...)
		if got := read(t, dir, "fast.txt"); got != "b" {
			t.Errorf("%s: fast.txt holds %q", name, got)
		}
		missing(t, dir, "other.txt")
	}
}

func TestAMergeCommitWithoutAMainlineGivesGitsTrueError(t *testing.T) {
	r, merge, own := mergedByCommit(t)
	for want, pick := range map[string]job.Pick{
		"error: commit " + merge + " is a merge but no -m option was given.": {SHA: merge},
		"error: commit " + merge + " does not have parent 3":                 {SHA: merge, Mainline: 3},
		"error: commit " + own[0] + " does not have parent 2":                {SHA: own[0], Mainline: 2},
	} {
		p, err := source.LocalLine(t.Context(), source.LineRequest{Repo: r.dir, Tip: job.Side{SHA: r.git("rev-parse", "v1.x"), Ref: "v1.x"}, Scratch: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		_, err = p.Pick(t.Context(), job.Change{Picks: []job.Pick{pick}})
		var refused *source.Refused
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "abort") {
			t.Errorf("want %q, got %v", want, err)
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestAChangeThatIsOnTheLineUnderAnotherIdIsThere(t *testing.T) {
	r := lined(t, map[string]string{"lib.txt": "1"})
	r.commit("main moves", map[string]string{"other.txt": "x"})
	sha := r.commit("pr 42: faster", map[string]string{"lib.txt": "2"})
	r.on("v1.x", "[v1.x backport] pr 42: faster", map[string]string{"lib.txt": "2"})
	if picked := there(t, r, "v1.x", one(sha)); !slices.Equal(picked.Skipped, []string{sha}) {
		t.Errorf("skipped: %v", picked.Skipped)
	}
}

func TestAConflictNamesTheCommitAndItsFiles(t *testing.T) {
	r := lined(t, map[string]string{"a.txt": "1\n", "dir/b.txt": "1\n", "c.txt": "1\n"})
	good := r.on("main", "good", map[string]string{"c.txt": "2\n"})
	bad := r.commit("bad", map[string]string{"a.txt": "2\n", "dir/b.txt": "2\n"})
	r.on("v1.x", "line", map[string]string{"a.txt": "other\n", "dir/b.txt": "other\n"})
	picked := conflicts(t, r, "v1.x", bad, []string{"a.txt", "dir/b.txt"}, one(good), one(bad))
	for _, want := range []string{"CONFLICT (content): Merge conflict in a.txt", "error: could not apply " + bad[:7] + "... bad"} {
		if !strings.Contains(picked.Text, want) {
			t.Errorf("git's words lack %q:\n%s", want, picked.Text)
		}
	}
}
