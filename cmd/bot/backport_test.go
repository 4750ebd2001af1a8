package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prbench/prbench/internal/config"
)

// releaseLines is a repository whose branch topic makes the program read its
// speed from fast where it read it from slow. That is safe on v1.x, slower on
// v2.x, whose older table of speeds is another one, conflicts with v3.x, is in
// v4.x already, and v5.x does not build with it.
func releaseLines(t testing.TB) (dir string) {
	t.Helper()
	dir = t.TempDir()
	passable(t, dir)
	git(t, dir, "init", "-q", "-b", "main")
	put(t, dir, config.RepoPath, `version: 1
build: {run: sh build.sh}
suites:
  main: {format: node, command: sh bench.sh, default: true}
compare: {runs: 8, margin: 5%}
release_lines: [v1.x, v2.x, v3.x, v4.x, v5.x]
`)
	put(t, dir, "build.sh", "test ! -e frozen || cmp -s frozen speed\n")
	put(t, dir, "bench.sh", `noise=$(od -An -N1 -tu1 /dev/urandom)
echo "sum.js n=1: $(($(cat "$(cat speed)") + noise))"
echo "scan.js n=1: $((50000 + noise))"
`)
	put(t, dir, "speed", "slow\n")
	put(t, dir, "slow", "50000\n")
	put(t, dir, "fast", "60000\n")
	git(t, dir, "add", ".")
	git(t, dir, "commit", "-q", "-m", "first")
	for _, line := range []string{"v1.x", "v2.x", "v3.x", "v4.x", "v5.x"} {
		git(t, dir, "branch", line)
	}
	on := func(branch, name, text string) {
		git(t, dir, "checkout", "-q", branch)
		put(t, dir, name, text)
		git(t, dir, "add", ".")
		git(t, dir, "commit", "-q", "-m", branch)
	}
	on("v2.x", "fast", "30000\n")
	on("v3.x", "speed", "./slow\n")
	on("v5.x", "frozen", "slow\n")
	git(t, dir, "checkout", "-q", "-b", "topic", "main")
	on("topic", "speed", "fast\n")
	on("topic", "notes", "why\n")
	git(t, dir, "checkout", "-q", "v4.x")
	git(t, dir, "cherry-pick", "topic~1", "topic")
	on("v4.x", "more", "v4.x goes on\n")
	git(t, dir, "checkout", "-q", "main")
	return dir
}

// unfit is what is said of a line on which the change is safe but for the machine:
// a busy one is no place to prove that. All the rest is the same there.
const unfit = "every benchmark held, on a machine that was unfit for a verdict of safety"

// lineKinds is what a change of releaseLines is on each line.
var lineKinds = map[string]string{"v1.x": "safe", "v2.x": "regresses", "v3.x": "conflicts", "v4.x": "already-in", "v5.x": "change-does-not-build"}

func TestBackportSaysOfEachLineWhatTheChangeIsThere(t *testing.T) {
	t.Parallel()
	repo, records := releaseLines(t), filepath.Join(t.TempDir(), "records")
	code, out, errs := bot(t, "backport", "--repo", repo, "--commits", "main..topic", "--records", records, "--format", "json", "--main", "--gate")
	if code != exitGate {
		t.Fatalf("exit %d: %s", code, errs)
	}
	var m struct {
		Headline string
		Lines    []struct{ Line, Verdict, Words string }
		Main     *struct{ Headline string }
	}
	if err := json.Unmarshal([]byte(out), &m); err != nil {
		t.Fatal(err)
	}
	if len(m.Lines) != len(lineKinds) {
		t.Fatalf("want five lines:\n%s", out)
	}
	unfitHere := false
	for _, l := range m.Lines {
		if l.Line == "v1.x" && strings.Contains(l.Words, unfit) {
			l.Verdict, unfitHere = "safe", true
		}
		if l.Verdict != lineKinds[l.Line] {
			t.Errorf("%s is %s (%s), want %s", l.Line, l.Verdict, l.Words, lineKinds[l.Line])
		}
		if !strings.Contains(errs, l.Words) {
			t.Errorf("standard error does not say %q:\n%s", l.Words, errs)
		}
	}
	if want := "on v1.x no benchmark is slower by more than 5 % (95 %)"; m.Lines[0].Words != want && !unfitHere {
		t.Errorf("v1.x: %q, want %q", m.Lines[0].Words, want)
	}
	if m.Main == nil || !strings.Contains(m.Main.Headline, "improvement") {
		t.Errorf("the change and its own base: %+v", m.Main)
	}
	if left, err := exec.Command("git", "-C", repo, "status", "--porcelain", "--branch").Output(); err != nil || string(left) != "## main\n" {
		t.Errorf("the repository is %q, %v", left, err)
	}
}

func TestARecordIsCheckedAgainstItsSamplesAndTheRepository(t *testing.T) {
	t.Parallel()
	repo, records := releaseLines(t), t.TempDir()
	if code, _, errs := bot(t, "backport", "--repo", repo, "--commits", "main..topic", "--lines", "v1.x,v3.x", "--records", records); code != exitOK {
		t.Fatalf("exit %d: %s", code, errs)
	}
	safe, conflict := filepath.Join(records, "v1.x"+recordEnd), filepath.Join(records, "v3.x"+recordEnd)
	check := func(record string, want int, words ...string) {
		t.Helper()
		code, out, errs := bot(t, "backport", "--repo", repo, "--check", record, "--gate")
		if code != want {
			t.Errorf("exit %d, want %d: %s%s", code, want, out, errs)
		}
		for _, w := range words {
			if !strings.Contains(out+errs, w) {
				t.Errorf("it does not say %q:\n%s%s", w, out, errs)
			}
		}
	}
	said, gate := "no benchmark is slower by more than 5 % (95 %)", exitOK
	if _, out, _ := bot(t, "report", safe); strings.Contains(out, unfit) {
		said, gate = unfit, exitGate
	}
	check(safe, gate, "on v1.x "+said, "every verdict comes out the same", "holds: v1.x is still at")
	check(conflict, exitGate, "none, as nothing was measured", "holds: v3.x is still at")
	code, out, errs := bot(t, "report", safe)
	if code != exitOK || !strings.HasPrefix(out, "On v1.x "+said) {
		t.Errorf("bot report: exit %d, %s%s", code, out, errs)
	}

	// As they come from a result page.
	page := t.TempDir()
	for from, to := range map[string]string{safe: "record.json", filepath.Join(records, "v1.x"+samplesEnd): "record-samples.jsonl"} {
		data, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		put(t, page, to, string(data))
	}
	check(filepath.Join(page, "record.json"), gate, "every verdict comes out the same")

	git(t, repo, "checkout", "-q", "v1.x")
	put(t, repo, "later", "v1.x goes on\n")
	git(t, repo, "add", ".")
	git(t, repo, "commit", "-q", "-m", "later")
	git(t, repo, "checkout", "-q", "main")
	check(safe, exitGate, "v1.x has moved since by 1 commit")
	git(t, repo, "checkout", "-q", "--orphan", "anew")
	git(t, repo, "commit", "-q", "-m", "another history")
	git(t, repo, "branch", "-f", "v1.x", "anew")
	check(safe, exitGate, "v1.x has been rewritten since")

	samples := filepath.Join(records, "v1.x"+samplesEnd)
	text, err := os.ReadFile(samples)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(text), "\n")
	if err := os.WriteFile(samples, []byte(strings.Join(lines[2:], "")), 0o600); err != nil {
		t.Fatal(err)
	}
	check(safe, exitFailed, "the samples are others", "the record does not hold")
}

func TestALineIsMeasuredOnceAndNothingIsLostForAChangeWithoutABase(t *testing.T) {
	t.Parallel()
	repo, records := releaseLines(t), t.TempDir()
	git(t, repo, "checkout", "-q", "--orphan", "alone")
	git(t, repo, "rm", "-rqf", ".")
	put(t, repo, "news", "from elsewhere\n")
	git(t, repo, "add", ".")
	git(t, repo, "commit", "-q", "-m", "without a parent")
	git(t, repo, "checkout", "-q", "main")
	code, out, errs := bot(t, "backport", "--repo", repo, "--commits", "alone", "--lines", "v1.x,v1.x", "--main", "--records", records)
	if code != exitOK || strings.Count(out, "\nv1.x ") != 1 || !strings.Contains(out, "On its own base: not measured") {
		t.Errorf("exit %d: %s%s", code, out, errs)
	}
	if !strings.Contains(errs, "not compared with its own base: ") {
		t.Errorf("standard error does not say why:\n%s", errs)
	}
}

func TestABackportThatCannotBeginSaysWhy(t *testing.T) {
	t.Parallel()
	repo := releaseLines(t)
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"no commits":        {[]string{"--lines", "v1.x"}, "want --commits RANGE"},
		"no such line":      {[]string{"--commits", "topic", "--lines", "v9.x"}, `"v9.x" is no commit`},
		"no such commit":    {[]string{"--commits", "topi", "--lines", "v1.x"}, `"topi" is no commit`},
		"an empty range":    {[]string{"--commits", "topic..main", "--lines", "v1.x"}, "holds no commit"},
		"an unknown format": {[]string{"--commits", "topic", "--format", "html"}, "want text, markdown or json"},
		"an unknown suite":  {[]string{"--commits", "topic", "nothing"}, `"nothing"`},
		"no such record":    {[]string{"--check", "nothing.json"}, "nothing.json"},
		"no record":         {[]string{"--check", filepath.Join(repo, "speed")}, "want the JSON of a record"},
	} {
		code, out, errs := bot(t, append([]string{"backport", "--repo", repo}, c.args...)...)
		if code == exitOK || out != "" || !strings.Contains(errs, c.want) {
			t.Errorf("%s: exit %d, %q, want %q in %q", name, code, out, c.want, errs)
		}
	}
}
