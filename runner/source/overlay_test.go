package source_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/runner/source"
)

func TestBothSidesRunTheBasesBenchmarksAndThePullRequestsNewOnes(t *testing.T) {
	r := newRepo(t, t.TempDir())
	r.commit("base", map[string]string{
		"src.txt": "old", "benchmark/a.js": "a of base", "benchmark/gone.js": "gone of base", "benchmark/same.js": "same"})
	r.git("checkout", "-q", "-b", "pr")
	if err := os.Remove(filepath.Join(r.dir, "benchmark/gone.js")); err != nil {
		t.Fatal(err)
	}
	r.commit("head", map[string]string{"src.txt": "new", "benchmark/a.js": "a of head", "benchmark/sub/new.js": "new of head"})
	p := local(t, source.LocalRequest{Repo: r.dir, Base: "main", Head: "pr"})

	old, new, plan := written(t, p, []string{"benchmark/**"}, job.HarnessBase, source.Content{})
	for _, dir := range []string{old, new} {
		for name, want := range map[string]string{"a.js": "a of base", "gone.js": "gone of base", "sub/new.js": "new of head", "same.js": "same"} {
			if got := read(t, dir, "benchmark", name); got != want {
				t.Errorf("%s has %q, want %q", name, got, want)
			}
		}
	}
	if read(t, old, "src.txt") != "old" || read(t, new, "src.txt") != "new" {
		t.Error("files outside the harness were exchanged")
	}
	notes := strings.Join(plan.Notes, "\n")
	for _, want := range []string{"harness changed by the pull request", "benchmark/a.js, benchmark/gone.js", "only the pull request has: benchmark/sub/new.js"} {
		if !strings.Contains(notes, want) {
			t.Errorf("the notes lack %q: %s", want, notes)
		}
	}
	if !slices.Equal(plan.Extra, []string{"benchmark/sub/new.js"}) {
		t.Errorf("extra: %q", plan.Extra)
	}

	alone := filepath.Join(t.TempDir(), "alone")
	if _, err := p.Write(t.Context(), plan.OldAlone(), job.Old, alone, source.Content{}); err != nil {
		t.Fatal(err)
	}
	missing(t, alone, "benchmark/sub/new.js")
	if read(t, alone, "benchmark/a.js") != "a of base" {
		t.Error("the base alone is not the base")
	}

	old, new, _ = written(t, p, []string{"benchmark/**"}, job.HarnessHead, source.Content{})
	for _, dir := range []string{old, new} {
		if read(t, dir, "benchmark/a.js") != "a of head" || read(t, dir, "benchmark/sub/new.js") != "new of head" {
			t.Error("the head's harness was not used")
		}
		missing(t, dir, "benchmark/gone.js")
	}
}

func TestASymbolicLinkInPlaceOfTheBenchmarksLeadsNowhere(t *testing.T) {
	outside := t.TempDir()
	r := newRepo(t, t.TempDir())
	r.commit("base", map[string]string{"benchmark/a.js": "a of base", "lib/x": "x"})
	r.git("checkout", "-q", "-b", "pr")
	if err := os.RemoveAll(filepath.Join(r.dir, "benchmark")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(r.dir, "benchmark")); err != nil {
		t.Fatal(err)
	}
	r.commit("head", nil)
	p := local(t, source.LocalRequest{Repo: r.dir, Base: "main", Head: "pr"})
	old, new, plan := written(t, p, []string{"benchmark/**"}, job.HarnessBase, source.Content{})
	for _, dir := range []string{old, new} {
		if got := read(t, dir, "benchmark/a.js"); got != "a of base" {
			t.Errorf("the harness has %q", got)
		}
		if info, err := os.Lstat(filepath.Join(dir, "benchmark")); err != nil || !info.IsDir() {
			t.Errorf("benchmark is %v, %v", info, err)
		}
	}
	entries, err := os.ReadDir(outside)
	if err != nil || len(entries) != 0 {
		t.Errorf("files were written through the link: %v, %v", entries, err)
	}
	if len(plan.Extra) != 0 {
		t.Errorf("the link counts as a new benchmark file: %q", plan.Extra)
	}
}
