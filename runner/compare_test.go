package runner_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/runner"
	"github.com/prbench/prbench/runner/proxy"
	"github.com/prbench/prbench/runner/sandbox"
	"github.com/prbench/prbench/runner/source"
)

func TestMain(m *testing.M) {
	proxy.Main() // a build's network starts this program again, inside
	goleak.VerifyTestMain(m)
}

// room is a folder that the sandbox's user can reach; t.TempDir is closed to others.
func room(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "prbench-runner-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	return dir
}

func bubblewrap(t testing.TB) *sandbox.Sandbox {
	t.Helper()
	cfg := sandbox.Config{Kind: sandbox.Bubblewrap}
	if os.Geteuid() == 0 {
		cfg.User = "nobody"
	}
	s, err := sandbox.New(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// repo is a real git repository.
type repo struct {
	t   *testing.T
	dir string
}

func newRepo(t *testing.T) repo {
	r := repo{t, t.TempDir()}
	r.git("init", "-q", "-b", "main")
	return r
}

func (r repo) git(args ...string) string {
	r.t.Helper()
	cmd := exec.Command("git", append([]string{"-C", r.dir}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.test", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.test")
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (r repo) commit(files map[string]string) string {
	r.t.Helper()
	for name, text := range files {
		path := filepath.Join(r.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			r.t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			r.t.Fatal(err)
		}
	}
	r.git("add", "-A")
	r.git("commit", "-q", "--allow-empty", "-m", "commit")
	return r.git("rev-parse", "HEAD")
}

// project is a repository whose build makes the benchmark program out of
// value.txt, with the branch "pr" on top of main.
func project(t *testing.T, base, head map[string]string) (r repo, baseSHA, headSHA string) {
	r = newRepo(t)
	files := map[string]string{"value.txt": "100", "bench/a.js": "", "build.sh": "#!/bin/sh\nset -e\n" +
		"printf '#!/bin/sh\\necho \"$1 n=1: %s\"\\n' \"$(cat value.txt)\" > run\nchmod +x run\n"}
	for k, v := range base {
		files[k] = v
	}
	baseSHA = r.commit(files)
	r.git("checkout", "-q", "-b", "pr")
	if head == nil {
		head = map[string]string{"value.txt": "200"}
	}
	return r, baseSHA, r.commit(head)
}

func spec() job.Spec {
	return job.Spec{Runs: 2, Build: job.Build{Run: "./build.sh"},
		Suites: []job.Suite{{Name: "s", Format: job.FormatNode, Cases: []string{"bench/*.js"}, Command: "./run {case}", Harness: []string{"bench/**"}}}}
}

// compared is a comparison of main and pr.
type compared struct {
	runner.LocalRequest
	runs   []job.Run
	phases []job.Phase
}

func newComparison(t *testing.T, r repo) *compared {
	c := &compared{}
	c.LocalRequest = runner.LocalRequest{Repo: r.dir, Base: "main", Head: "pr", Spec: spec(), Sandbox: bubblewrap(t), Work: room(t),
		Sink: func(r job.Run) error { c.runs = append(c.runs, r); return nil },
		Progress: func(p job.Progress) {
			if n := len(c.phases); n == 0 || c.phases[n-1] != p.Phase {
				c.phases = append(c.phases, p.Phase)
			}
		}}
	return c
}

func (c *compared) run(t *testing.T) runner.Comparison {
	t.Helper()
	got, err := runner.Compare(t.Context(), c.LocalRequest)
	if err != nil {
		t.Fatalf("compare: %v", err)
	}
	left, err := os.ReadDir(c.Work)
	if err != nil || len(left) != 0 {
		t.Errorf("left in the work folder: %v, %v", left, err)
	}
	return got
}

// values gives the distinct values of a side.
func values(runs []job.Run, side job.SideName) string {
	seen, out := map[string]bool{}, ""
	for _, r := range runs {
		for _, s := range r.Samples {
			if v := fmt.Sprint(s.Name(), "=", s.Value, " "); r.Side == side && !seen[v] {
				seen[v] = true
				out += v
			}
		}
	}
	return strings.TrimSpace(out)
}

func TestTwoCommitsAreBuiltAndMeasured(t *testing.T) {
	r, base, head := project(t, nil, nil)
	c := newComparison(t, r)
	got := c.run(t)
	o := got.Outcome
	if o.Kind != job.Measured || o.Runs != 4 || got.Base.SHA != base || got.Head.SHA != head || got.Head.Ref != "pr" {
		t.Errorf("%+v", got)
	}
	if o, n := values(c.runs, job.Old), values(c.runs, job.New); o != "bench/a.js n=1=100" || n != "bench/a.js n=1=200" {
		t.Errorf("old %q, new %q", o, n)
	}
	if o.Host.Kernel == "" || o.Host.Cores < 1 || o.Host.CPU == "" || !strings.HasPrefix(o.Host.Sandbox, "bubblewrap") {
		t.Errorf("host: %+v", o.Host)
	}
	if w := strings.Join(o.Host.Warn, "\n"); !strings.Contains(w, "benchmarks run on any CPU, the runner's too; to mend it: name their CPUs") {
		t.Errorf("the report's warnings of the machine: %s", w)
	}
	if got := fmt.Sprint(c.phases); got != "[fetch build base build head measure]" {
		t.Errorf("phases: %s", got)
	}
}

func TestTheWorkingTreeIsComparedWithoutBeingTouched(t *testing.T) {
	r, _, _ := project(t, nil, nil)
	if err := os.WriteFile(filepath.Join(r.dir, "value.txt"), []byte("300"), 0o644); err != nil {
		t.Fatal(err)
	}
	c := newComparison(t, r)
	c.Head = source.WorkingTree
	c.run(t)
	if n := values(c.runs, job.New); n != "bench/a.js n=1=300" {
		t.Errorf("new %q", n)
	}
	if got := r.git("status", "--porcelain"); got != "M value.txt" {
		t.Errorf("the repository's status is %q", got)
	}
}

func TestABuildThatFailsSaysWhichSideAndTheLastLines(t *testing.T) {
	bad := map[string]string{"build.sh": "#!/bin/sh\necho compiling\necho 'x.c:1: no such thing' >&2\nexit 1\n"}
	r, _, _ := project(t, nil, bad)
	c := newComparison(t, r)
	o := c.run(t).Outcome
	if o.Kind != job.BuildFailed || o.Side != job.New || o.Text != "head did not build: exit 1" || !strings.Contains(o.Log, "x.c:1: no such thing") || len(c.runs) != 0 {
		t.Errorf("%+v", o)
	}
	r, _, _ = project(t, bad, nil)
	if o := newComparison(t, r).run(t).Outcome; o.Kind != job.BuildFailed || o.Side != job.Old {
		t.Errorf("%+v", o)
	}
}

func TestABuildHasItsTreeACacheAndNoNetworkAndNothingElse(t *testing.T) {
	r, _, _ := project(t, map[string]string{"build.sh": `#!/bin/sh
set -ex
[ "$(pwd)" = /src ]
[ -d "$HOME" ] && echo x > "$HOME/file" && echo x > "$XDG_CACHE_HOME/file"
[ -z "$(ls -A .git 2>/dev/null)" ]
! grep -qv 'lo:\|Inter\|face' /proc/net/dev
[ ! -e /root/.profile ] && [ ! -e "` + os.TempDir() + `/secret-of-the-host" ]
printf '#!/bin/sh\necho "$1 n=1: 1"\n' > run; chmod +x run; mkdir -p locked/in && chmod 555 locked
`}, nil)
	if o := newComparison(t, r).run(t).Outcome; o.Kind != job.Measured {
		t.Errorf("%+v", o)
	}
}

func TestBenchmarkFilesThatBreakTheBasesBuildAreLeftOutThere(t *testing.T) {
	build := "#!/bin/sh\nset -e\n[ ! -e bench/new.js ] || [ -e feature ]\nprintf '#!/bin/sh\\necho \"$1 n=1: 1\"\\n' > run; chmod +x run\n"
	r, _, _ := project(t, map[string]string{"build.sh": build}, map[string]string{"feature": "", "bench/new.js": ""})
	c := newComparison(t, r)
	o := c.run(t).Outcome
	if o.Kind != job.Measured || !strings.Contains(strings.Join(o.Notes, "\n"), "does not build with the harness files") {
		t.Errorf("%+v", o)
	}
	if old, new := values(c.runs, job.Old), values(c.runs, job.New); strings.Contains(old, "new.js") || !strings.Contains(new, "new.js") {
		t.Errorf("old %q, new %q", old, new)
	}
}

func TestTheHarnessIsTheBases(t *testing.T) {
	run := func(v string) map[string]string {
		return map[string]string{"bench/a.js": v, "run": "#!/bin/sh\necho \"$1 n=1: $(cat $1)\"\n"}
	}
	r, _, _ := project(t, run("1"), run("2"))
	c := newComparison(t, r)
	c.Spec.Build.Run = ""
	o := c.run(t).Outcome
	if old, new := values(c.runs, job.Old), values(c.runs, job.New); old != "bench/a.js n=1=1" || new != old {
		t.Errorf("old %q, new %q", old, new)
	}
	if n := strings.Join(o.Notes, "\n"); !strings.Contains(n, "harness changed by the pull request") {
		t.Errorf("notes: %s", n)
	}
}

func TestACancelledComparisonIsStoppedInItsBuildToo(t *testing.T) {
	r, _, _ := project(t, map[string]string{"build.sh": "#!/bin/sh\nsleep 3600\n"}, nil)
	c := newComparison(t, r)
	ctx, cancel := context.WithCancelCause(t.Context())
	c.Progress = func(p job.Progress) {
		if p.Phase == job.PhaseBuildBase {
			cancel(errors.New("enough"))
		}
	}
	got, err := runner.Compare(ctx, c.LocalRequest)
	if err != nil || got.Outcome.Kind != job.Stopped {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestACommitThatIsNotThereIsAnError(t *testing.T) {
	r, _, _ := project(t, nil, nil)
	c := newComparison(t, r)
	c.Base = "nowhere"
	_, err := runner.Compare(t.Context(), c.LocalRequest)
	var refused *source.Refused
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), "nowhere") {
		t.Errorf("got %v", err)
	}
}

func TestWithoutASandboxTheSameIsDone(t *testing.T) {
	build := "#!/bin/sh\nset -e\necho x > \"$HOME/x\"\nprintf '#!/bin/sh\\necho \"$1 n=1: %s\" > results.txt\\n' \"$(cat value.txt)\" > run\nchmod +x run\n"
	r, _, _ := project(t, map[string]string{"build.sh": build}, nil)
	c := newComparison(t, r)
	var err error
	if c.Sandbox, err = sandbox.New(t.Context(), sandbox.Config{Kind: sandbox.None}); err != nil {
		t.Fatal(err)
	}
	c.Spec.Suites[0].Output = "results.txt"
	o := c.run(t).Outcome
	if old, new := values(c.runs, job.Old), values(c.runs, job.New); o.Kind != job.Measured || old != "bench/a.js n=1=100" || new != "bench/a.js n=1=200" {
		t.Errorf("old %q, new %q, %+v", old, new, o)
	}
	if o.Host.Sandbox != "none" {
		t.Errorf("the report says %q of the sandbox", o.Host.Sandbox)
	}
}

func TestABuildWithHistoryAsksGitForItsVersion(t *testing.T) {
	build := "#!/bin/sh\nset -e\nv=$(git describe --tags | sed 's/[^0-9]//g' | cut -c 1-2)\nprintf '#!/bin/sh\\necho \"$1 n=1: %s\"\\n' \"$v\" > run\nchmod +x run\n"
	r, base, _ := project(t, map[string]string{"build.sh": build}, nil)
	r.git("tag", "v7", base)
	c := newComparison(t, r)
	c.Spec.History = true
	o := c.run(t).Outcome
	if old, new := values(c.runs, job.Old), values(c.runs, job.New); o.Kind != job.Measured || old != "bench/a.js n=1=7" || new != "bench/a.js n=1=71" {
		t.Errorf("old %q, new %q, %+v", old, new, o)
	}
}
