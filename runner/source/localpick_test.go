package source_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/runner/source"
)

func resolved(t *testing.T, r repo, commits string) job.Change {
	t.Helper()
	c, err := source.LocalChange(t.Context(), r.dir, commits)
	if err != nil {
		t.Fatalf("%s: %v", commits, err)
	}
	return c
}

func TestCommitsOfALocalRepositoryAreAChange(t *testing.T) {
	r, merge, own := mergedByCommit(t)
	fork, moved := r.git("merge-base", "v1.x", "pr"), r.git("rev-parse", "main~1")
	for commits, want := range map[string]struct {
		picks []job.Pick
		note  string
	}{
		own[1]:             {[]job.Pick{one(own[1])}, "the commit " + own[1][:7]},
		"v1.x..pr":         {[]job.Pick{one(own[0]), one(own[1])}, "the 2 commits " + fork[:7] + ".." + own[1][:7]},
		"main~1..pr":       {[]job.Pick{one(own[0]), one(own[1])}, "the 2 commits " + fork[:7] + ".." + own[1][:7]},
		"pr~1..pr":         {[]job.Pick{one(own[1])}, "the commit " + own[1][:7]},
		"main":             {[]job.Pick{{SHA: merge, Mainline: 1}}, "the merge commit " + merge[:7] + ", against its first parent"},
		"v1.x..":           {[]job.Pick{{SHA: merge, Since: fork}}, "the 4 commits " + fork[:7] + ".." + merge[:7] + " as one, as there are merges among them"},
		"main~1..main":     {[]job.Pick{{SHA: merge, Since: moved}}, "the 3 commits " + moved[:7] + ".." + merge[:7] + " as one, as there are merges among them"},
		"..main":           {nil, "..main holds no commit"},
		"pr..v1.x":         {nil, "pr..v1.x holds no commit: all of v1.x is in pr"},
		"pr...main":        {nil, "want one commit or a range A..B"},
		"nowhere":          {nil, `"nowhere" is no commit of this repository`},
		"v1.x..nowhere":    {nil, `"nowhere" is no commit of this repository`},
		"--output=x..main": {nil, "want a branch, a tag or a commit"},
		"":                 {nil, "want a branch, a tag or a commit"},
	} {
		got, err := source.LocalChange(t.Context(), r.dir, commits)
		var refused *source.Refused
		switch {
		case want.picks == nil:
			if !errors.As(err, &refused) || !strings.Contains(err.Error(), strings.Replace(want.note, "..main", "HEAD..main", 1)) && !strings.Contains(err.Error(), want.note) {
				t.Errorf("%q: got %v", commits, err)
			}
		case err != nil || !reflect.DeepEqual(got, job.Change{Picks: want.picks, Note: want.note}):
			t.Errorf("%q: got %+v, %v\nwant %+v", commits, got, err, want)
		}
	}
}

func TestAMergeInsideAPullRequestMakesItOneCommit(t *testing.T) {
	r := lined(t, map[string]string{"a.txt": "1\n", "b.txt": "1\n"})
	r.git("checkout", "-q", "-b", "pr", "main")
	r.commit("first", map[string]string{"a.txt": "2\n"})
	r.on("main", "main moves", map[string]string{"b.txt": "2\n"})
	r.git("checkout", "-q", "pr")
	r.git("merge", "-q", "-m", "Merge main into pr", "main")
	r.commit("second", map[string]string{"a.txt": "3\n"})
	c := resolved(t, r, "main..pr")
	if len(c.Picks) != 1 || c.Picks[0].Since != r.git("rev-parse", "main") {
		t.Fatalf("%+v", c)
	}
	_, dir := applied(t, r, "v1.x", job.PickApplies, c.Picks...)
	if got := read(t, dir, "a.txt") + read(t, dir, "b.txt"); got != "3\n1\n" {
		t.Errorf("the picked side holds %q", got)
	}
}

func TestMoreCommitsThanAPullRequestListsAreRefused(t *testing.T) {
	r := lined(t, map[string]string{"a.txt": "1\n"})
	var stream strings.Builder
	for i := range job.MaxPicks + 1 {
		from := ""
		if i == 0 {
			from = "from refs/heads/v1.x^0\n"
		}
		fmt.Fprintf(&stream, "commit refs/heads/long\ncommitter c <c@example.test> %d +0000\ndata 1\nx\n%sM 100644 inline f%d\ndata 2\n1\n\n", i+1, from, i)
	}
	r.shell(`cd "$1" && git fast-import --quiet <<'END'`+"\n"+stream.String()+"done\nEND\n", r.dir)
	if _, err := source.LocalChange(t.Context(), r.dir, "v1.x..long"); err == nil || !strings.Contains(err.Error(), "v1.x..long holds 251 commits, more than 250") {
		t.Errorf("got %v", err)
	}
	if c := resolved(t, r, "v1.x..long~1"); len(c.Picks) != job.MaxPicks || c.Picks[0].SHA != r.git("rev-parse", "long~250") {
		t.Errorf("%d commits from %v", len(c.Picks), c.Picks[0])
	}
}

func TestAShallowCloneIsDeepenedForAChangeOrFailsByName(t *testing.T) {
	r, merge, own := mergedByCommit(t)
	clone := func() repo {
		c := repo{t, filepath.Join(t.TempDir(), "clone")}
		r.git("clone", "-q", "--depth=1", "--no-single-branch", "file://"+r.dir, c.dir)
		return c
	}
	c := clone()
	if got := resolved(t, c, "origin/main"); got.Picks[0] != (job.Pick{SHA: merge, Mainline: 1}) {
		t.Errorf("%+v", got)
	}
	applied(t, c, "origin/v1.x", job.PickApplies, job.Pick{SHA: merge, Mainline: 1})
	if got := resolved(t, clone(), "origin/v1.x..origin/pr"); len(got.Picks) != 2 || got.Picks[0].SHA != own[0] {
		t.Errorf("%+v", got)
	}
	c = clone()
	c.git("remote", "remove", "origin")
	_, err := source.LocalChange(t.Context(), c.dir, merge)
	var refused *source.Refused
	if !errors.As(err, &refused) || refused.Kind != source.Gone || !strings.Contains(err.Error(), "no remote to deepen it from") {
		t.Errorf("got %v", err)
	}
	_, err = source.LocalChange(t.Context(), c.dir, merge+".."+own[1])
	if err == nil {
		t.Error("a range of which the clone has no beginning was resolved")
	}
}

func TestALineIsFoundInTheCloneOrAtItsRemote(t *testing.T) {
	r, _, _ := mergedByCommit(t)
	clone := repo{t, filepath.Join(t.TempDir(), "clone")}
	r.git("clone", "-q", r.dir, clone.dir)
	want := job.Side{SHA: r.git("rev-parse", "v1.x"), Ref: "v1.x"}
	for _, c := range []repo{r, clone} {
		if got, err := source.LocalTip(t.Context(), c.dir, "v1.x"); err != nil || got != want {
			t.Errorf("%s: %+v, %v", c.dir, got, err)
		}
	}
	for _, line := range []string{"v9.x", "", "-h"} {
		_, err := source.LocalTip(t.Context(), clone.dir, line)
		var refused *source.Refused
		if !errors.As(err, &refused) || refused.Side != job.Old {
			t.Errorf("%q: got %v", line, err)
		}
	}
}

func TestAPickIsVerifiedInAnotherClone(t *testing.T) {
	r, merge, _ := mergedByCommit(t)
	change, tip := job.Change{Picks: []job.Pick{{SHA: merge, Mainline: 1}}}, job.Side{SHA: r.git("rev-parse", "v1.x"), Ref: "v1.x"}
	want, err := source.Repick(t.Context(), r.dir, change, tip)
	if err != nil || want.Kind != job.PickApplies {
		t.Fatalf("%+v, %v", want, err)
	}
	bare := repo{t, filepath.Join(t.TempDir(), "bare: \"odd\"")}
	r.git("clone", "-q", "--bare", r.dir, bare.dir)
	if got, err := source.Repick(t.Context(), bare.dir, change, tip); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v\nwant %+v", got, err, want)
	}
	empty := newRepo(t, filepath.Join(t.TempDir(), "empty"))
	empty.commit("one", nil)
	for name, c := range map[string]struct {
		change job.Change
		tip    job.Side
		says   string
	}{
		"a tip that is not there":    {change, tip, "the commit " + tip.SHA + ", the tip of v1.x, is not in the repository"},
		"a commit that is not there": {change, job.Side{SHA: empty.git("rev-parse", "HEAD"), Ref: "main"}, merge + ", which the change needs, is not there"},
		"no commit":                  {job.Change{}, job.Side{SHA: empty.git("rev-parse", "HEAD")}, "want a change of 1 to 250 commits"},
		"an option for an id":        {job.Change{Picks: []job.Pick{{SHA: "--abort"}}}, job.Side{SHA: empty.git("rev-parse", "HEAD")}, "want a full commit id"},
		"no id":                      {change, job.Side{SHA: "main"}, "want a full commit id"},
	} {
		_, err := source.Repick(t.Context(), empty.dir, c.change, c.tip)
		var refused *source.Refused
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestAPickedSideHasItsHistory(t *testing.T) {
	r, merge, _ := mergedByCommit(t)
	r.git("tag", "-a", "v1.2", "-m", "v1.2", "v1.x")
	r.on("v1.x", "line", map[string]string{"line.txt": "x"})
	picked, p := onLine(t, r, "v1.x", job.Pick{SHA: merge, Mainline: 1})
	old, new, _ := written(t, p, nil, "", source.Content{History: true})
	for dir, want := range map[string]string{old: "v1.2-1-g", new: "v1.2-2-g" + picked.SHA[:7]} {
		if got := (repo{t, dir}).git("describe", "--dirty"); !strings.HasPrefix(got, want) || strings.Contains(got, "dirty") {
			t.Errorf("git describe says %q, want %s…", got, want)
		}
		missing(t, dir, ".git/objects/info/alternates")
	}
	if got := (repo{t, new}).git("rev-parse", "HEAD"); got != picked.SHA {
		t.Errorf("HEAD is %s, picked was %s", got, picked.SHA)
	}
	(repo{t, new}).git("fsck", "--strict")
}

func TestHowFarALineHasMoved(t *testing.T) {
	r, merge, own := mergedByCommit(t)
	fork := r.git("merge-base", "v1.x", "pr")
	for _, c := range []struct {
		older, newer string
		want         int
	}{
		{fork, fork, 0}, {fork, own[1], 2}, {fork, merge, 4}, {own[1], fork, -1}, {r.git("rev-parse", "main~1"), own[1], -1},
		{strings.Repeat("0", 40), merge, -1},
	} {
		if got, err := source.Ahead(t.Context(), r.dir, c.older, c.newer); err != nil || got != c.want {
			t.Errorf("from %.7s to %.7s: %d, %v, want %d", c.older, c.newer, got, err, c.want)
		}
	}
}

func TestAPartialCloneIsToldHowToHaveAllFiles(t *testing.T) {
	r := lined(t, map[string]string{"a.txt": "1\n2\n3\n4\n5\n6\n"})
	sha := r.on("main", "change", map[string]string{"a.txt": "1\n2\n3\n4\n5\n7\n"})
	r.on("v1.x", "line", map[string]string{"a.txt": "0\n2\n3\n4\n5\n6\n"})
	r.git("config", "uploadpack.allowFilter", "true")
	clone := repo{t, filepath.Join(t.TempDir(), "clone")}
	r.git("clone", "-q", "--no-checkout", "--filter=blob:none", "file://"+r.dir, clone.dir)
	tip := job.Side{SHA: r.git("rev-parse", "v1.x"), Ref: "v1.x"}
	change := job.Change{Picks: []job.Pick{one(sha)}}
	_, err := source.Repick(t.Context(), clone.dir, change, tip)
	var refused *source.Refused
	if !errors.As(err, &refused) || refused.Kind != source.Gone || !strings.Contains(err.Error(), "git fetch --refetch --no-filter") {
		t.Errorf("got %v", err)
	}
	clone.git("fetch", "-q", "--refetch", "--no-filter")
	if picked, err := source.Repick(t.Context(), clone.dir, change, tip); err != nil || picked.Kind != job.PickApplies {
		t.Errorf("%+v, %v", picked, err)
	}
}

func TestAConflictSaysThatTheLineHasTheCommitInItsHistory(t *testing.T) {
	r := lined(t, map[string]string{"a.txt": "1\n"})
	sha := r.on("main", "change", map[string]string{"a.txt": "2\n"})
	r.git("branch", "v2.x")
	r.on("v2.x", "changed again", map[string]string{"a.txt": "3\n"})
	picked := conflicts(t, r, "v2.x", sha, []string{"a.txt"}, one(sha))
	if !picked.Held {
		t.Errorf("%+v", picked)
	}
	r.on("v1.x", "another", map[string]string{"a.txt": "3\n"})
	if picked := conflicts(t, r, "v1.x", sha, []string{"a.txt"}, one(sha)); picked.Held {
		t.Errorf("%+v", picked)
	}
}

func TestWhatAPickedSideLacksIsToldInTheWordsOfTheLine(t *testing.T) {
	r := lined(t, map[string]string{"a.txt": "1\n"})
	r.git("checkout", "-q", "main")
	sha := withModule(r, "../dep", strings.Repeat("1", 40))
	_, p := onLine(t, r, "v1.x", one(sha))
	plan, err := p.Plan(t.Context(), nil, "")
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.Write(t.Context(), plan, job.New, filepath.Join(t.TempDir(), "new"), source.Content{})
	if err == nil || !strings.HasPrefix(err.Error(), "the submodule deps/dep of v1.x with the change: the commit 1111") {
		t.Errorf("got %v", err)
	}
}
