package runner_test

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/runner/sandbox"
)

// daemonMark stands in the arguments of what an attempt leaves running.
const daemonMark = "86399.125"

// attempts is what a hostile build or benchmark tries. Each one that succeeds is
// named in $GOT.
type attempts struct {
	dir    string // of the host, writable for everybody
	key    string // a file of the runner that everybody may read who can see it
	port   int    // of a listener on the host's loopback
	pid    int    // of the runner
	secret string // stands in the runner's environment
}

// harmless are the attempts that may be made without a sandbox too, which shows
// that it is the sandbox that stops them.
func (a attempts) harmless() string {
	return fmt.Sprintf(`try() { name=$1; shift; if "$@" >/dev/null 2>&1; then echo "$name" >> "$GOT"; fi; }
try "the runner's key" cat %[1]q
try "a folder of the host" touch %[2]q/written
try "the host's loopback" bash -c 'exec 3<>/dev/tcp/127.0.0.1/%[3]d'
try "a signal to the runner" perl -e 'exit !kill 0, %[4]d'
try "the runner's environment" sh -c 'grep -aq %[5]s /proc/[0-9]*/environ'
`, a.key, a.dir, a.port, a.pid, a.secret)
}

func (a attempts) all() string {
	return a.harmless() + fmt.Sprintf(`
try "the machine's passwords" cat /etc/shadow
try "root's home" ls /root
try "homes" ls /home
try "the machine's settings" touch /etc/made
try "the system" touch /usr/bin/made
try "the kernel's settings" sh -c 'echo 0 > /proc/sys/kernel/randomize_va_space'
try "the cloud's metadata" bash -c 'exec 3<>/dev/tcp/169.254.169.254/80'
try "a private address" bash -c 'exec 3<>/dev/tcp/10.0.0.1/22'
try "a mount" mount -t tmpfs none /tmp
try "a user namespace" unshare --user --map-root-user true
try "a device" sh -c 'mknod /tmp/disk b 8 0 && head -c 1 /tmp/disk'
try "the other side's tree" sh -c 'for t in %[1]q/../*/old; do echo 1 > "$t/value.txt" && exit 0; done; exit 1'
setsid sleep %[2]s >/dev/null 2>&1 &
`, a.dir, daemonMark)
}

// newAttempts prepares what is tried, and shows that it would succeed.
func newAttempts(t *testing.T) attempts {
	t.Helper()
	dir := room(t)
	a := attempts{dir: filepath.Join(dir, "open"), key: filepath.Join(dir, "runner.nk"), pid: os.Getpid(), secret: "of-the-runner-7f3a"}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	a.port = l.Addr().(*net.TCPAddr).Port
	t.Setenv("PRBENCH_RUNNER_KEY", a.secret)
	if err := os.WriteFile(a.key, []byte("seed"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(a.dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(a.dir, 0o777); err != nil {
		t.Fatal(err)
	}
	got := filepath.Join(dir, "got")
	cmd := exec.Command("/bin/sh", "-c", a.harmless())
	cmd.Env = append(os.Environ(), "GOT="+got)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	data, err := os.ReadFile(got)
	if err != nil || strings.Count(string(data), "\n") != strings.Count(a.harmless(), "\ntry ") {
		t.Fatalf("without a sandbox these succeed alone: %s, %v", data, err)
	}
	if err := os.Remove(filepath.Join(a.dir, "written")); err != nil {
		t.Fatal(err)
	}
	return a
}

func TestNothingThatAHostileBuildOrBenchmarkTriesSucceeds(t *testing.T) {
	a := newAttempts(t)
	hostile := "#!/bin/bash\nexport GOT=/tmp/got; : > $GOT\n" + a.all() + "\n[ ! -s $GOT ] || { cat $GOT; exit 9; }\n"
	plant := `
ln -s /etc/passwd bench/passwd.js; mkfifo bench/fifo.js; ln -s / bench/root; ln -s ` + a.dir + ` out; ln -sf ` + a.key + ` results.txt
mkdir -p deep/er; chmod 000 deep/er deep
`
	build := hostile + "printf '#!/bin/sh\\necho 1 > /src/value.txt; echo 1 > /src/run\\n. /src/try.sh\\necho \"$1 n=1: %s\"\\n' \"$(cat value.txt)\" > run; chmod +x run\n"
	r, _, _ := project(t, map[string]string{"build.sh": build + plant, "try.sh": strings.TrimPrefix(hostile, "#!/bin/bash\n")}, nil)
	c := newComparison(t, r)
	c.Spec.Suites[0].Cases = []string{"bench/a.js"}
	o := c.run(t).Outcome
	if o.Kind != job.Measured || o.Text != "" {
		t.Errorf("%s, %s:\n%s", o.Kind, o.Text, o.Log)
	}
	if old, new := values(c.runs, job.Old), values(c.runs, job.New); old != "bench/a.js n=1=100" || new != "bench/a.js n=1=200" {
		t.Errorf("old %q, new %q", old, new)
	}
	if left, err := os.ReadDir(a.dir); err != nil || len(left) != 0 {
		t.Errorf("written on the host: %v, %v", left, err)
	}
	nothingRuns(t, daemonMark)
}

// nothingRuns fails when a process with this in its arguments stays.
func nothingRuns(t *testing.T, mark string) {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		if args, err := os.ReadFile(p); err == nil && strings.Contains(string(args), mark) {
			t.Errorf("%s still runs: %q", p, args)
		}
	}
}

func TestWhatABuildPlantsWhereTheRunnerReadsAndWritesHarmsNothing(t *testing.T) {
	for name, c := range map[string]struct{ plant, output string }{
		"a link to a file of the runner":       {`ln -s "$KEY" results.txt`, "results.txt"},
		"a pipe":                               {"mkfifo results.txt", "results.txt"},
		"a folder":                             {"mkdir results.txt", "results.txt"},
		"a full folder":                        {"mkdir results.txt; touch results.txt/x", "results.txt"},
		"a link to a folder of the host":       {`ln -s "$DIR" out`, "out/results.txt"},
		"a link that leads to itself":          {"ln -s out out", "out/results.txt"},
		"a folder that nobody may go through":  {"mkdir out; chmod 000 out", "out/results.txt"},
		"a file where there is to be a folder": {"echo x > out", "out/results.txt"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := room(t)
			key, open := filepath.Join(dir, "runner.nk"), filepath.Join(dir, "open")
			if err := os.WriteFile(key, []byte("seed"), 0o666); err != nil {
				t.Fatal(err)
			}
			if err := os.Mkdir(open, 0o777); err != nil {
				t.Fatal(err)
			}
			build := fmt.Sprintf("#!/bin/sh\nset -e\nKEY=%q; DIR=%q\n[ ! -e plant ] || { %s; }\nprintf '#!/bin/sh\\necho \"x n=1: %%s\" > %s\\n' \"$(cat value.txt)\" > run; chmod +x run\n",
				key, open, c.plant, c.output)
			r, _, _ := project(t, map[string]string{"build.sh": build}, map[string]string{"plant": ""})
			cmp := newComparison(t, r)
			cmp.Spec.Suites = []job.Suite{{Name: "s", Format: job.FormatNode, Command: "./run", Output: c.output}}
			o := cmp.run(t).Outcome
			if o.Kind == job.Fault {
				t.Errorf("what a pull request did is taken for a fault of the machine: %s", o.Text)
			}
			if old := values(cmp.runs, job.Old); o.Kind != job.Measured || old != "x n=1=100" {
				t.Errorf("the other side: %q; %+v", old, o)
			}
			if data, err := os.ReadFile(key); err != nil || string(data) != "seed" {
				t.Errorf("the runner's file: %q, %v", data, err)
			}
			if left, err := os.ReadDir(open); err != nil || len(left) != 0 {
				t.Errorf("written on the host: %v, %v", left, err)
			}
		})
	}
}

func TestTheLimitThatAHostileBuildOrBenchmarkHitsIsNamed(t *testing.T) {
	limits := sandbox.Config{Memory: 128 << 20, Pids: 60, FileSize: 2 << 20}
	facts := box(t, limits).Facts()
	counted := func(how string) bool { return strings.HasPrefix(how, "cgroup") }
	for name, c := range map[string]struct {
		run  string
		text string
		told bool // the machine can tell
	}{
		"processes without end": {`perl -e '1 while defined(fork); exit 1'`, "hit its limit of pids", counted(facts.Pids)},
		"all the memory":        {`exec perl -e 'while (1) { push @b, "x" x (1 << 20) }'`, "hit its limit of memory", true},
		"all the disk":          {"exec head -c 3000000 /dev/zero > /tmp/big", "hit its limit of file size", true},
		"a sleep for ever":      {"sleep 3600", "timed out after ", true},
	} {
		for _, where := range []string{"build", "benchmark"} {
			t.Run(name+" in a "+where, func(t *testing.T) {
				t.Parallel()
				good := "#!/bin/sh\necho \"$1 n=1: 1\"\n"
				base := map[string]string{"run": good, "build.sh": "#!/bin/sh\n"}
				head := map[string]string{map[string]string{"build": "build.sh", "benchmark": "run"}[where]: "#!/bin/sh\n" + c.run + "\n"}
				r, _, _ := project(t, base, head)
				cmp := newComparison(t, r)
				cmp.Sandbox = box(t, limits)
				cmp.Spec.Build.Timeout, cmp.Spec.Suites[0].Timeout = job.Duration(10*time.Second), job.Duration(10*time.Second)
				if strings.HasPrefix(c.text, "timed") {
					cmp.Spec.Build.Timeout, cmp.Spec.Suites[0].Timeout = job.Duration(time.Second), job.Duration(time.Second)
				}
				o := cmp.run(t).Outcome
				want := map[string]job.OutcomeKind{"build": job.BuildFailed, "benchmark": job.Measured}[where]
				if o.Kind != want || o.Side != job.New || c.told && !strings.Contains(o.Text, c.text) {
					t.Errorf("%s of the %s side, want %s that says %q: %s\n%s", o.Kind, o.Side, want, c.text, o.Text, o.Log)
				}
			})
		}
	}
}

// The same as an ordinary user, who has nothing to drop to.
func TestTheSameEscapesFailForARunnerThatIsAnOrdinaryUser(t *testing.T) {
	if os.Geteuid() != 0 {
		return // all of these tests are that already
	}
	const uid, gid = 63637, 63637
	dir := room(t)
	binary, home := filepath.Join(dir, "runner.test"), filepath.Join(dir, "home")
	copyProgram(t, os.Args[0], binary)
	if err := os.Mkdir(home, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(home, uid, gid); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), binary, "-test.run", "^(TestNothingThat|TestWhatABuildPlants|TestTheLimitThat)", "-test.v", "-test.count=1")
	cmd.Dir = home
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + home}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: gid}}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
	if passed := strings.Count(string(out), "--- PASS: "); passed < 19 {
		t.Errorf("only %d tests ran:\n%s", passed, out)
	}
}

func copyProgram(t *testing.T, from, to string) {
	t.Helper()
	in, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(out, in); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
}
