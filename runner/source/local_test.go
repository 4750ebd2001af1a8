package source_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prbench/prbench/runner/source"
)

// forked has a branch "pr" off the first commit of main, and main one ahead.
func forked(t *testing.T) (r repo, fork, tip string) {
	r = newRepo(t, filepath.Join(t.TempDir(), "repo"))
	fork = r.commit("one", map[string]string{"a.txt": "one", ".gitignore": "built\n"})
	r.git("checkout", "-q", "-b", "pr")
	r.commit("pr", map[string]string{"a.txt": "pr"})
	r.git("checkout", "-q", "main")
	tip = r.commit("two", map[string]string{"main.txt": "two"})
	return r, fork, tip
}

func TestTheMergeBaseIsComparedUnlessTheBaseIsExact(t *testing.T) {
	r, fork, tip := forked(t)
	p := local(t, source.LocalRequest{Repo: r.dir, Base: "main", Head: "pr"})
	if p.Old.SHA != fork {
		t.Errorf("the base is %s, want the merge base %s", p.Old.SHA, fork)
	}
	old, new, _ := written(t, p, nil, "", source.Content{})
	if got := read(t, old, "a.txt") + read(t, new, "a.txt"); got != "onepr" {
		t.Errorf("the trees hold %q", got)
	}
	missing(t, old, "main.txt")
	missing(t, old, ".git")
	p = local(t, source.LocalRequest{Repo: r.dir, Base: "main", Head: "pr", BaseExact: true})
	if p.Old.SHA != tip {
		t.Errorf("the exact base is %s, want %s", p.Old.SHA, tip)
	}
}

func TestTheWorkingTreeIsTakenAsItIsAndLeftUntouched(t *testing.T) {
	r, _, _ := forked(t)
	r.git("checkout", "-q", "pr")
	r.write(map[string]string{"a.txt": "dirty", "untracked/new.txt": "new", "built": "ignored", "staged.txt": "staged"})
	r.git("add", "staged.txt")
	if err := os.Remove(filepath.Join(r.dir, ".gitignore")); err != nil {
		t.Fatal(err)
	}
	r.write(map[string]string{".gitignore": "built\n# edited\n"})
	before := fingerprint(t, r.dir)

	p := local(t, source.LocalRequest{Repo: r.dir, Base: "main", Head: "."})
	_, new, _ := written(t, p, nil, "", source.Content{})
	if got := read(t, new, "a.txt") + read(t, new, "untracked/new.txt") + read(t, new, "staged.txt"); got != "dirtynewstaged" {
		t.Errorf("the head holds %q", got)
	}
	missing(t, new, "built")
	missing(t, new, "main.txt")
	if after := fingerprint(t, r.dir); after != before {
		t.Error("the repository was changed")
	}
	if n := strings.Join(p.Notes, "\n"); !strings.Contains(n, "working tree: 4 files differ") {
		t.Errorf("notes: %s", n)
	}
}

// fingerprint is a hash over every file below dir, git's own included.
func fingerprint(t *testing.T, dir string) string {
	t.Helper()
	h := sha256.New()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		fmt.Fprintf(h, "%s %d\n%s\n", path, len(data), data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}

func TestRefsThatAreNoneAreRefusedByName(t *testing.T) {
	r, _, _ := forked(t)
	for _, bad := range []source.LocalRequest{
		{Repo: r.dir, Base: "nowhere", Head: "pr"},
		{Repo: r.dir, Base: "main", Head: "--output=/tmp/x"},
		{Repo: r.dir, Base: "", Head: "pr"},
		{Repo: t.TempDir(), Base: "main", Head: "pr"},
		{Repo: filepath.Join(r.dir, "a.txt"), Base: "main", Head: "pr"},
	} {
		_, err := source.Local(context.Background(), bad)
		var refused *source.Refused
		if !errors.As(err, &refused) || refused.Kind != source.BadRequest {
			t.Errorf("%+v: got %v", bad, err)
		}
	}
}

func TestUnrelatedCommitsHaveNoMergeBase(t *testing.T) {
	r, _, _ := forked(t)
	r.git("checkout", "-q", "--orphan", "island")
	r.commit("island", map[string]string{"b.txt": "b"})
	_, err := source.Local(context.Background(), source.LocalRequest{Repo: r.dir, Base: "main", Head: "island"})
	var refused *source.Refused
	if !errors.As(err, &refused) || refused.Kind != source.NoMergeBase || !strings.Contains(err.Error(), "main and island") {
		t.Errorf("got %v", err)
	}
}

// shallow gives the clone that the script makes: depth 1, of a fork that is 40
// commits behind.
func shallow(t *testing.T) (up, clone repo) {
	t.Helper()
	dir := t.TempDir()
	script, err := filepath.Abs("testdata/shallow-clone-of-a-fork-forty-commits-behind.sh")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", script, dir)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	// Git refuses the file transport only for submodules, so the clone's remote
	// works for a person as it is.
	return repo{t, filepath.Join(dir, "up")}, repo{t, filepath.Join(dir, "runner")}
}

func TestAShallowCloneIsDeepenedUntilTheMergeBaseIsFound(t *testing.T) {
	up, clone := shallow(t)
	want := up.git("rev-list", "--max-parents=0", "main")
	p := local(t, source.LocalRequest{Repo: clone.dir, Base: "origin/main", Head: "pr"})
	if p.Old.SHA != want {
		t.Errorf("the base is %s, want the merge base %s", p.Old.SHA, want)
	}
	if n := strings.Join(p.Notes, "\n"); !strings.Contains(n, "deepened") {
		t.Errorf("notes: %s", n)
	}
}

func TestAShallowCloneWithCommitsOfItsOwnIsDeepened(t *testing.T) {
	up, clone := shallow(t)
	clone.git("checkout", "-q", "pr")
	clone.commit("mine", map[string]string{"mine.txt": "1"})
	p := local(t, source.LocalRequest{Repo: clone.dir, Base: "origin/main", Head: "."})
	if want := up.git("rev-list", "--max-parents=0", "main"); p.Old.SHA != want {
		t.Errorf("the base is %s, want the merge base %s", p.Old.SHA, want)
	}
}

func TestAShallowCloneThatCannotBeDeepenedFailsByName(t *testing.T) {
	up, clone := shallow(t)
	if err := os.RemoveAll(up.dir); err != nil {
		t.Fatal(err)
	}
	_, err := source.Local(context.Background(), source.LocalRequest{Repo: clone.dir, Base: "origin/main", Head: "pr"})
	var refused *source.Refused
	if !errors.As(err, &refused) || refused.Kind != source.NoMergeBase || !strings.Contains(err.Error(), "shallow") || !strings.Contains(err.Error(), "origin/main and pr") {
		t.Errorf("got %v", err)
	}
	clone.git("remote", "remove", "origin")
	clone.git("update-ref", "refs/heads/main2", "main")
	_, err = source.Local(context.Background(), source.LocalRequest{Repo: clone.dir, Base: "main2", Head: "pr"})
	if !errors.As(err, &refused) || refused.Kind != source.NoMergeBase || !strings.Contains(err.Error(), "no remote") {
		t.Errorf("got %v", err)
	}
}

func TestALinkedWorktreeIsReadLikeARepository(t *testing.T) {
	r, fork, _ := forked(t)
	linked := filepath.Join(t.TempDir(), "linked")
	r.git("worktree", "add", "-q", linked, "pr")
	repo{t, linked}.write(map[string]string{"a.txt": "linked"})
	p := local(t, source.LocalRequest{Repo: linked, Base: "main", Head: "."})
	_, new, _ := written(t, p, nil, "", source.Content{})
	if p.Old.SHA != fork || read(t, new, "a.txt") != "linked" {
		t.Errorf("base %s, head has %q", p.Old.SHA, read(t, new, "a.txt"))
	}
}

func TestAFileOfACommitIsReadByItsPath(t *testing.T) {
	r, _, _ := forked(t)
	data, err := source.File(t.Context(), r.dir, "pr", "a.txt")
	if err != nil || string(data) != "pr" {
		t.Errorf("got %q, %v", data, err)
	}
	for _, none := range []string{"main.txt", "nowhere/x", "", "../a.txt"} {
		if _, err := source.File(t.Context(), r.dir, "pr", none); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%q: %v", none, err)
		}
	}
}
