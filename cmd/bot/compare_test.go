package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/prbench/prbench/internal/config"
	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/runner"
)

// local is a small repository: on main a benchmark that costs a shell, on the
// branch faster one that is twice as fast in one of its two cases.
func local(t *testing.T, pause string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	script := func(rate string) string {
		return "sleep " + pause + `
noise=$(od -An -N1 -tu1 /dev/urandom)
echo "bench/sum.js n=1: $((` + rate + ` + noise)).5"
echo "bench/scan.js n=1: $((50000 + noise)).25"
`
	}
	git(t, dir, "init", "-q", "-b", "main")
	put(t, dir, config.RepoPath, "version: 1\nbuild: {run: sh build.sh}\nsuites:\n  main: {format: node, command: sh bench.sh, default: true}\n")
	put(t, dir, "build.sh", "true\n")
	put(t, dir, "bench.sh", script("10000"))
	git(t, dir, "add", ".")
	git(t, dir, "commit", "-q", "-m", "first")
	git(t, dir, "checkout", "-q", "-b", "faster")
	put(t, dir, "bench.sh", script("20000"))
	git(t, dir, "commit", "-q", "-a", "-m", "faster")
	git(t, dir, "checkout", "-q", "main")
	put(t, dir, "other.txt", "main goes on\n")
	git(t, dir, "add", ".")
	git(t, dir, "commit", "-q", "-m", "second")
	return dir
}

func put(t testing.TB, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func git(t testing.TB, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=dev", "-c", "user.email=dev@example.org"}, args...)...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1"}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

// compareArgs compares the branch with main, with five runs a side.
func compareArgs(repo, head, samples string, more ...string) []string {
	return append([]string{"compare", "--repo", repo, "--base", "main", "--head", head, "--runs", "5", "--margin", "10%", "--samples", samples}, more...)
}

func TestCompareJudgesTwoRefsAndKeepsSamplesThatReportAndRAgreeOn(t *testing.T) {
	t.Parallel()
	repo, samples := local(t, "0"), filepath.Join(t.TempDir(), "samples.csv")
	code, table, errs := bot(t, compareArgs(repo, "faster", samples)...)
	if code != exitOK {
		t.Fatalf("exit %d: %s", code, errs)
	}
	if !strings.Contains(errs, samples) || !strings.Contains(errs, "bot report") || !strings.Contains(errs, "faster") {
		t.Errorf("standard error says neither what is compared nor how to report it again:\n%s", errs)
	}
	// The samples are compare.js's CSV: they give the same table again, and R
	// finds the same numbers in them.
	data, err := os.ReadFile(samples)
	if err != nil {
		t.Fatal(err)
	}
	if first, _, _ := strings.Cut(string(data), "\n"); !strings.HasPrefix(first, `"binary","filename","configuration","rate","time"`) {
		t.Errorf("the samples' head is %s", first)
	}
	code, again, errs := bot(t, "report", "--margin", "10%", samples)
	if code != exitOK {
		t.Fatalf("report: exit %d: %s", code, errs)
	}
	if diff := cmp.Diff(table, again); diff != "" {
		t.Errorf("compare's table (-), report's (+):\n%s", diff)
	}
	r := exec.Command("Rscript", "--vanilla", "testdata/report/samples.R")
	r.Env = append(os.Environ(), "LC_ALL=C.UTF-8")
	r.Stdin = bytes.NewReader(data)
	want, err := r.Output()
	if err != nil {
		t.Fatalf("Rscript: %v", err)
	}
	var got []string
	for _, line := range rows(table)[:2] {
		f := strings.Fields(strings.NewReplacer("%", "", "*", "").Replace(line))
		got = append(got, strings.Join(f[:4], " "))
	}
	if diff := cmp.Diff(strings.Split(strings.TrimSpace(string(want)), "\n"), got); diff != "" {
		t.Errorf("R (-), ours (+):\n%s\n%s", diff, table)
	}
	if !strings.Contains(table, "***") {
		t.Errorf("twice as fast has no stars:\n%s", table)
	}
}

func TestCompareTakesTheDirtyTree(t *testing.T) {
	t.Parallel()
	repo, samples := local(t, "0"), filepath.Join(t.TempDir(), "samples.csv")
	// Neither is committed: one file is changed and one is new.
	put(t, repo, "bench.sh", "sh new.sh\n")
	put(t, repo, "new.sh", "noise=$(od -An -N1 -tu1 /dev/urandom)\necho \"bench/sum.js n=1: $((1000 + noise)).5\"\n")
	code, out, errs := bot(t, compareArgs(repo, ".", samples, "--sandbox", "none", "--format", "markdown")...)
	if code != exitOK || !strings.Contains(out, "### 1 regression beyond 10 %") || !strings.Contains(out, "scan") {
		t.Errorf("exit %d: %s\n%s", code, errs, out)
	}
	if data, err := os.ReadFile(filepath.Join(repo, "bench.sh")); err != nil || string(data) != "sh new.sh\n" {
		t.Errorf("the tree was changed: %v %s", err, data)
	}
}

func TestWithAGateARegressionIsExitCodeThree(t *testing.T) {
	t.Parallel()
	repo, samples := local(t, "0"), filepath.Join(t.TempDir(), "samples.csv")
	git(t, repo, "checkout", "-q", "-b", "slower", "faster")
	put(t, repo, "bench.sh", "noise=$(od -An -N1 -tu1 /dev/urandom)\nfor b in sum scan; do echo \"bench/$b.js n=1: $((2000 + noise)).5\"; done\n")
	git(t, repo, "commit", "-q", "-a", "-m", "slower")
	code, out, errs := bot(t, compareArgs(repo, "slower", samples, "--sandbox", "none", "--gate")...)
	if code != exitGate {
		t.Errorf("exit %d, want %d: %s\n%s", code, exitGate, errs, out)
	}
	code, out, errs = bot(t, compareArgs(repo, "faster", samples, "--sandbox", "none", "--gate")...)
	if code != exitOK {
		t.Errorf("faster: exit %d: %s\n%s", code, errs, out)
	}
}

func TestCompareTellsOfABuildThatFails(t *testing.T) {
	t.Parallel()
	repo, samples := local(t, "0"), filepath.Join(t.TempDir(), "samples.csv")
	put(t, repo, "build.sh", "echo cc engine.c\necho engine.c:7: error\nexit 9\n")
	code, out, errs := bot(t, compareArgs(repo, ".", samples)...)
	if code != exitFailed || out != "" || !strings.Contains(errs, "engine.c:7: error") || !strings.Contains(errs, "does not build") {
		t.Errorf("exit %d: %s\n%s", code, errs, out)
	}
}

func TestCompareNamesWhatIsWrongWithItsArguments(t *testing.T) {
	t.Parallel()
	repo, samples := local(t, "0"), filepath.Join(t.TempDir(), "samples.csv")
	for name, c := range map[string]struct {
		args []string
		code int
		says string
	}{
		"an unknown ref":   {compareArgs(repo, "fastr", samples), exitFailed, "fastr"},
		"an unknown suite": {compareArgs(repo, "faster", samples, "mian"), exitUsage, `"mian"`},
	} {
		code, _, errs := bot(t, c.args...)
		if code != c.code || !strings.Contains(errs, c.says) {
			t.Errorf("%s: exit %d, want %d: %s", name, code, c.code, errs)
		}
	}
}

func TestControlCKeepsWhatWasMeasuredAndSaysHowToReportIt(t *testing.T) {
	t.Parallel()
	w := &world{t: t, dir: t.TempDir()}
	passable(t, w.dir)
	repo, samples := local(t, "0.1"), filepath.Join(w.dir, "samples.csv")
	args := append(compareArgs(repo, "faster", samples), "--runs", "1000") // which would take minutes
	p := start(t, w.dir, args...)
	eventually(t, "there are samples", func() bool {
		if p.ended() {
			t.Fatalf("it ended: %s", p.text())
		}
		data, err := os.ReadFile(samples)
		return err == nil && bytes.Count(data, []byte("\n")) > 20
	})
	if code := p.interrupt(); code != exitFailed {
		t.Errorf("exit %d, want %d", code, exitFailed)
	}
	if out := p.out.String(); !strings.Contains(out, "bench/sum.js n=1") || !strings.Contains(out, "***") {
		t.Errorf("what was measured is not shown:\n%s", out)
	}
	for _, words := range []string{"stopped after", "bot report", samples} {
		if !strings.Contains(p.text(), words) {
			t.Errorf("standard error does not say %q:\n%s", words, p.text())
		}
	}
	if code, out, errs := bot(t, "report", "--margin", "10%", samples); code != exitOK || !strings.Contains(out, "***") {
		t.Errorf("report: exit %d: %s\n%s", code, errs, out)
	}
	w.nothingStays()
}

func TestAFaultOfTheMachineIsToldWithoutAdviceForAPullRequest(t *testing.T) {
	t.Parallel()
	var errs bytes.Buffer
	c := finishedComparison{Comparison: runner.Comparison{Outcome: job.Outcome{Kind: job.Fault, Text: "build the base: no space left"}}, file: &sampleFile{}}
	err := c.tell(t.Context(), stream{err: &errs, out: &errs})
	if err == nil || err.Error() != "this machine failed, not the code: build the base: no space left" || errs.Len() > 0 {
		t.Errorf("%v\n%s", err, &errs)
	}
}
