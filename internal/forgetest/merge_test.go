package forgetest_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/prbench/prbench/internal/forgetest"
)

// history gives a format of git log's for each commit from one revision to main, oldest first.
func (w *world) history(from, format string) []string {
	w.t.Helper()
	var out string
	_, err := w.Push("dev-a", w.repo, "main", func(b *forgetest.Work) (err error) {
		out, err = b.Git("log", "--reverse", "--first-parent", "--format="+format, from+"..HEAD")
		return err
	})
	w.ok(err)
	return strings.Split(out, "\n")
}

// second adds a commit to the pull request, and one to main.
func (w *world) second() (main string) {
	w.t.Helper()
	forgetest.Must(w.Push("dev-b", w.fork, "faster", forgetest.WriteFiles("a second change", map[string]string{"more.txt": "1\n"})))
	return forgetest.Must(w.Push("dev-a", w.repo, "main", forgetest.WriteFiles("go on", map[string]string{"other.txt": "x\n"})))
}

func TestEachMergeStyleMakesTheCommitsThatGitHubMakes(t *testing.T) {
	for style, want := range map[forgetest.MergeStyle][]string{
		// Author, committer, number of parents by their lengths, subject.
		forgetest.MergeCommit: {"dev-a dev-a 2 Merge pull request #1 from dev-b/faster"},
		forgetest.MergeSquash: {"dev-b dev-a 1 Go faster (#1)"},
		forgetest.MergeRebase: {"dev-b dev-a 1 go faster", "dev-b dev-a 1 a second change"},
	} {
		t.Run(string(style), func(t *testing.T) {
			w := newWorld(t, false)
			main, head := w.second(), w.Head(w.pull)
			w.ok(w.Merge("dev-a", w.pull, style))
			var got []string
			for _, line := range w.history(main, "%an %cn|%P|%s") {
				who, rest, _ := strings.Cut(line, "|")
				parents, subject, _ := strings.Cut(rest, "|")
				got = append(got, who+" "+string('0'+rune(len(strings.Fields(parents))))+" "+subject)
			}
			if strings.Join(got, "\n") != strings.Join(want, "\n") {
				t.Errorf("made %q, want %q", got, want)
			}
			var p struct {
				State       string
				Merged      bool
				MergedAt    string                 `json:"merged_at"`
				MergedBy    struct{ Login string } `json:"merged_by"`
				MergeCommit string                 `json:"merge_commit_sha"`
				Base, Head  struct{ SHA string }
				Commits     int
			}
			w.ask("GET", "", "/repos/acme/engine/pulls/1", "", &p)
			if p.State != "closed" || !p.Merged || p.MergedAt == "" || p.MergedBy.Login != "dev-a" || p.MergeCommit != forgetest.Must(w.repo1("main")) {
				t.Errorf("it is %+v", p)
			}
			if p.Head.SHA != head || p.Base.SHA != main || p.Commits != 2 {
				t.Errorf("its own commits are not what they were: %+v", p)
			}
			if err := w.Merge("dev-a", w.pull, style); err == nil {
				t.Error("it was merged twice")
			}
		})
	}
}

func TestAMergeIsToldAsAPullRequestThatWasClosed(t *testing.T) {
	w := newWorld(t, false)
	w.ok(w.Merge("dev-a", w.pull, forgetest.MergeSquash))
	w.ok(w.Settle(t.Context()))
	for _, e := range w.hooks.all() {
		var p struct {
			Action string
			Pull   struct {
				Merged      bool
				MergeCommit string `json:"merge_commit_sha"`
			} `json:"pull_request"`
		}
		w.ok(json.Unmarshal(e.body, &p))
		if e.event != "pull_request" || p.Action != "closed" {
			continue
		}
		if !p.Pull.Merged || p.Pull.MergeCommit != forgetest.Must(w.repo1("main")) {
			t.Errorf("told of merged %v at %v", p.Pull.Merged, p.Pull.MergeCommit)
		}
		return
	}
	t.Error("nothing was told")
}

func TestAConflictCannotBeMergedInAnyStyle(t *testing.T) {
	w := newWorld(t, false)
	forgetest.Must(w.Push("dev-a", w.repo, "main", forgetest.WriteFiles("another way", map[string]string{"speed.txt": "other\n"})))
	for _, style := range []forgetest.MergeStyle{forgetest.MergeCommit, forgetest.MergeSquash, forgetest.MergeRebase} {
		if err := w.Merge("dev-a", w.pull, style); err == nil {
			t.Errorf("%s merged a conflict", style)
		}
	}
}
