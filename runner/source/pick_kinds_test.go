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

func TestWhatIsEmptyOnTheLineIsLeftOut(t *testing.T) {
	r := lined(t, map[string]string{"a.txt": "1\n", "b.txt": "1\n", "c.txt": "1\n"})
	first := r.on("main", "first", map[string]string{"a.txt": "2\n"})
	middle := r.commit("middle", map[string]string{"b.txt": "2\n"})
	nothing := r.commit("nothing at all", nil)
	last := r.commit("last", map[string]string{"c.txt": "2\n"})
	r.on("v1.x", "middle, by hand", map[string]string{"b.txt": "2\n"})
	picked, dir := applied(t, r, "v1.x", job.PickAppliesInPart, one(first), one(middle), one(nothing), one(last))
	if !slices.Equal(picked.Skipped, []string{middle, nothing}) {
		t.Errorf("skipped: %v", picked.Skipped)
	}
	if got := read(t, dir, "a.txt") + read(t, dir, "b.txt") + read(t, dir, "c.txt"); got != "2\n2\n2\n" {
		t.Errorf("the picked side holds %q", got)
	}
	there(t, r, "v1.x", one(middle), one(nothing))
}

func TestWhatTheLineTookBackGoesOnAgain(t *testing.T) {
	r := lined(t, map[string]string{"a.txt": "1\n"})
	sha := r.on("main", "change", map[string]string{"a.txt": "2\n"})
	r.on("v1.x", "change", map[string]string{"a.txt": "2\n"})
	there(t, r, "v1.x", one(sha))
	r.git("revert", "--no-edit", "HEAD")
	_, dir := applied(t, r, "v1.x", job.PickApplies, one(sha))
	if got := read(t, dir, "a.txt"); got != "2\n" {
		t.Errorf("the picked side holds %q", got)
	}
}

func TestACommitAndItsRevertGoOnOneAfterTheOther(t *testing.T) {
	r := lined(t, map[string]string{"a.txt": "1\n", "b.txt": "1\n"})
	sha := r.on("main", "change", map[string]string{"a.txt": "2\n"})
	r.git("revert", "--no-edit", "HEAD")
	revert := r.git("rev-parse", "HEAD")
	other := r.commit("other", map[string]string{"b.txt": "2\n"})
	_, dir := applied(t, r, "v1.x", job.PickApplies, one(sha), one(revert), one(other))
	if got := read(t, dir, "a.txt") + read(t, dir, "b.txt"); got != "1\n2\n" {
		t.Errorf("the picked side holds %q", got)
	}
	if picked := there(t, r, "v1.x", one(sha), one(revert)); !strings.Contains(picked.Text, "take each other back") {
		t.Errorf("%+v", picked)
	}
}

func TestAFileThatWasRenamedIsFoundOnTheLine(t *testing.T) {
	lines := strings.Repeat("a line of code\n", 20)
	r := lined(t, map[string]string{"old.js": lines + "slow()\n"})
	r.git("checkout", "-q", "main")
	r.git("mv", "old.js", "new.js")
	r.commit("rename", nil)
	sha := r.commit("change", map[string]string{"new.js": lines + "fast()\n"})
	_, dir := applied(t, r, "v1.x", job.PickApplies, one(sha))
	if got := read(t, dir, "old.js"); !strings.HasSuffix(got, "fast()\n") {
		t.Errorf("the picked side holds %q", got)
	}
	missing(t, dir, "new.js")
}

func TestABinaryFileGoesOnOrConflicts(t *testing.T) {
	before, after, other := "\x00\x01\r\n\xff1", "\x00\x01\r\n\xff2", "\x00\x01\r\n\xff3"
	r := lined(t, map[string]string{"data.bin": before, "same.bin": before})
	sha := r.on("main", "change", map[string]string{"data.bin": after})
	first, dir := applied(t, r, "v1.x", job.PickApplies, one(sha))
	if got := read(t, dir, "data.bin"); got != after {
		t.Errorf("the picked side holds %q", got)
	}
	r.git("reset", "-q", "--hard", "HEAD~1")
	second, _ := applied(t, r, "v1.x", job.PickApplies, one(r.on("main", "change", map[string]string{"data.bin": other})))
	if first.PatchID == second.PatchID {
		t.Error("two changes of a binary file have one patch id")
	}
	r.on("v1.x", "line", map[string]string{"data.bin": after})
	conflicts(t, r, "v1.x", r.git("rev-parse", "main"), []string{"data.bin"}, one(r.git("rev-parse", "main")))
}

func TestAFileThatTheLineDeletedConflicts(t *testing.T) {
	r := lined(t, map[string]string{"a.txt": "1\n", "b.txt": "1\n"})
	sha := r.on("main", "change", map[string]string{"a.txt": "2\n"})
	r.git("checkout", "-q", "v1.x")
	r.git("rm", "-q", "a.txt")
	r.commit("without a.txt", nil)
	if picked := conflicts(t, r, "v1.x", sha, []string{"a.txt"}, one(sha)); !strings.Contains(picked.Text, "CONFLICT (modify/delete): a.txt") {
		t.Errorf("git's words: %s", picked.Text)
	}
}

func TestPathsOfAnyBytesAreNamedAsTheyAre(t *testing.T) {
	paths := []string{"-rf", "a \"quoted\"\\ name", "caf\u00e9/\u65e5\u672c.txt", "line\nbreak", "tab\tname", ":(top)x"}
	files, mine, theirs := map[string]string{}, map[string]string{}, map[string]string{}
	for _, p := range paths {
		files[p], mine[p], theirs[p] = "1\n", "2\n", "3\n"
	}
	r := lined(t, files)
	sha := r.on("main", "change", mine)
	_, dir := applied(t, r, "v1.x", job.PickApplies, one(sha))
	for _, p := range paths {
		if got := read(t, dir, p); got != "2\n" {
			t.Errorf("%q holds %q", p, got)
		}
	}
	r.on("v1.x", "line", theirs)
	slices.Sort(paths)
	conflicts(t, r, "v1.x", sha, paths, one(sha))
}

func TestSymbolicLinksGoOnAsLinks(t *testing.T) {
	r := lined(t, map[string]string{"a.txt": "1\n"})
	outside := filepath.Join(t.TempDir(), "outside")
	link := func(to string) {
		t.Helper()
		if err := os.RemoveAll(filepath.Join(r.dir, "link")); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(to, filepath.Join(r.dir, "link")); err != nil {
			t.Fatal(err)
		}
	}
	r.git("checkout", "-q", "main")
	link(filepath.Dir(outside))
	first := r.commit("link", nil)
	if err := os.Remove(filepath.Join(r.dir, "link")); err != nil {
		t.Fatal(err)
	}
	second := r.commit("a folder in its place", map[string]string{"link/.gitattributes": "* text\n", "link/outside": "text\n"})
	_, dir := applied(t, r, "v1.x", job.PickApplies, one(first))
	if to, err := os.Readlink(filepath.Join(dir, "link")); err != nil || to != filepath.Dir(outside) {
		t.Errorf("the link leads to %q, %v", to, err)
	}
	applied(t, r, "v1.x", job.PickApplies, one(first), one(second))
	missing(t, outside)
	missing(t, filepath.Dir(outside), ".gitattributes")
	r.git("checkout", "-q", "v1.x")
	link("elsewhere")
	r.commit("another link", nil)
	conflicts(t, r, "v1.x", first, []string{"link"}, one(first))
}

func TestASubmodulesPointerGoesOnOrConflicts(t *testing.T) {
	at := func(n string) string { return strings.Repeat(n, 40) }
	r := lined(t, map[string]string{"a.txt": "1\n"})
	withModule(r, "../dep", at("1"))
	r.git("branch", "-f", "v1.x")
	r.git("checkout", "-q", "main")
	sha := withModule(r, "../dep", at("2"))
	picked, _ := onLine(t, r, "v1.x", one(sha))
	if hand, id := byHand(t, r, "v1.x", one(sha)); picked.Kind != job.PickApplies || picked.SHA != hand || picked.PatchID != id {
		t.Errorf("%+v, by hand %s, %s", picked, hand, id)
	}
	r.git("checkout", "-q", "v1.x")
	withModule(r, "../dep", at("3"))
	conflicts(t, r, "v1.x", sha, []string{"deps/dep"}, one(sha))
}

func TestMessagesAndNamesOfOldCommitsAreKept(t *testing.T) {
	r := lined(t, map[string]string{"a.txt": "1\n"})
	r.git("checkout", "-q", "main")
	commit := func(script string) string {
		t.Helper()
		return r.shell(`set -e; cd "$1"; echo "$2" >> a.txt; git add a.txt; `+script+`; git rev-parse HEAD`, r.dir, script)
	}
	var picks []job.Pick
	for _, script := range []string{
		`git commit -q --allow-empty-message -m ""`,
		`printf 'caf\351\n\nd\351j\340 vu\n' | GIT_AUTHOR_NAME=$(printf 'Ren\351') GIT_COMMITTER_NAME=$(printf 'Andr\351') GIT_COMMITTER_DATE='@5 -0130' git -c i18n.commitEncoding=ISO-8859-1 commit -q -F -`,
		`printf '\n\n# no comment\n\n\nwith   space  \n\n\n' | git commit -q --cleanup=verbatim -F -`,
		`GIT_AUTHOR_NAME='<x> "y", Jr.' GIT_COMMITTER_EMAIL= GIT_COMMITTER_NAME='$(touch /tmp/no) ; x' git commit -q -m x`,
	} {
		picks = append(picks, one(commit(script)))
	}
	picked, p := onLine(t, r, "v1.x", picks...)
	if hand, id := byHand(t, r, "v1.x", picks...); picked.SHA != hand || picked.PatchID != id {
		t.Errorf("%+v, by hand %s, %s", picked, hand, id)
	}
	// As one commit, an encoding is kept as well.
	since := []job.Pick{{SHA: picks[1].SHA, Since: r.git("merge-base", "main", "v1.x")}}
	applied(t, r, "v1.x", job.PickApplies, since...)
	if p.Old.Ref != "v1.x" || p.New.Ref != "v1.x with the change" {
		t.Errorf("the sides are called %q and %q", p.Old.Ref, p.New.Ref)
	}
}

func TestACommitterWhomGitWouldRefuseIsUnknown(t *testing.T) {
	r := lined(t, map[string]string{"a.txt": "1\n"})
	r.git("checkout", "-q", "main")
	parent := r.git("rev-parse", "HEAD")
	r.commit("change", map[string]string{"a.txt": "2\n"})
	raw := "tree " + r.git("rev-parse", "HEAD^{tree}") + "\nparent " + parent + "\nauthor a <a@example.test> 1 +0000\ncommitter .,; <> 99999999999999999999 +9999\n\ntext\n"
	sha := r.shell(`cd "$1"; printf %s "$2" | git hash-object -t commit -w --literally --stdin`, r.dir, raw)
	picked, p := onLine(t, r, "v1.x", one(sha))
	again, _ := onLine(t, r, "v1.x", one(sha))
	if picked.Kind != job.PickApplies || picked.SHA != again.SHA || p.New.SHA != picked.SHA {
		t.Errorf("%+v, again %+v", picked, again)
	}
}

func TestLineEndsOfThePersonsConfigurationDoNotReachThePick(t *testing.T) {
	r := lined(t, map[string]string{"a.txt": "1\n2\n3\n", "dos.txt": "1\r\n2\r\n"})
	sha := r.on("main", "change", map[string]string{"a.txt": "1\n2\n4\n", "dos.txt": "1\r\n3\r\n"})
	plain, _ := applied(t, r, "v1.x", job.PickApplies, one(sha))
	for _, crlf := range []string{"true", "input"} {
		r.git("config", "core.autocrlf", crlf)
		r.git("config", "core.eol", "crlf")
		if picked, _ := applied(t, r, "v1.x", job.PickApplies, one(sha)); picked.SHA != plain.SHA {
			t.Errorf("with autocrlf=%s the pick is %+v, else %+v", crlf, picked, plain)
		}
	}
}

func TestAttributesOfTheLineCountAsByHand(t *testing.T) {
	r := lined(t, map[string]string{".gitattributes": "*.lock -diff\n", "sub/.gitattributes": "log.txt merge=union\n", "sub/log.txt": "1\n", "a.lock": "1\n"})
	sha := r.on("main", "change", map[string]string{"sub/log.txt": "1\nmain\n", "a.lock": "2\n"})
	r.on("v1.x", "line", map[string]string{"sub/log.txt": "1\nline\n"})
	_, dir := applied(t, r, "v1.x", job.PickApplies, one(sha))
	if got := read(t, dir, "sub/log.txt"); got != "1\nline\nmain\n" {
		t.Errorf("the union is %q", got)
	}
}

func TestNothingOfTheRepositoryRunsWhileAChangeIsPicked(t *testing.T) {
	r := lined(t, map[string]string{"a.txt": "1\n", "b.txt": "1\n", ".gitattributes": "* filter=evil merge=evil diff=evil\n"})
	sha := r.on("main", "change", map[string]string{"a.txt": "2\n"})
	r.on("v1.x", "line", map[string]string{"b.txt": "2\n"})
	r.git("checkout", "-q", "main")
	mark := filepath.Join(t.TempDir(), "ran")
	run := "touch " + mark + "; false"
	tip := job.Side{SHA: r.git("rev-parse", "v1.x"), Ref: "v1.x"}
	for key, value := range map[string]string{"filter.evil.smudge": run, "filter.evil.clean": run, "filter.evil.process": run, "merge.evil.driver": run,
		"diff.evil.command": run, "diff.evil.textconv": run, "diff.external": run, "commit.gpgSign": "true", "gpg.program": run, "rerere.enabled": "true",
		"core.fsmonitor": run, "core.editor": run, "core.pager": run, "commit.cleanup": "strip", "user.name": "nobody"} {
		r.git("config", key, value)
	}
	global := filepath.Join(t.TempDir(), "gitconfig")
	if err := os.WriteFile(global, []byte("[include]\n\tpath = "+r.dir+"/.git/config\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, hook := range []string{"pre-commit", "prepare-commit-msg", "commit-msg", "post-commit", "post-checkout", "reference-transaction", "post-index-change", "pre-merge-commit"} {
		if err := os.WriteFile(filepath.Join(r.dir, ".git", "hooks", hook), []byte("#!/bin/sh\n"+run+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("GIT_CONFIG_GLOBAL", global)
	t.Setenv("GIT_EXTERNAL_DIFF", "touch "+mark)
	t.Setenv("GIT_AUTHOR_NAME", "someone else")
	picked, err := source.Repick(t.Context(), r.dir, job.Change{Picks: []job.Pick{one(sha)}}, tip)
	if err != nil || picked.Kind != job.PickApplies {
		t.Errorf("%+v, %v", picked, err)
	}
	missing(t, mark)
}
