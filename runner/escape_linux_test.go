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

// daemonMark stands in the arguments of what an attempt leaves running, and of
// nothing else on this machine.
var daemonMark = fmt.Sprintf("86399.%d", os.Getpid())

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
( setsid sleep %[1]s </dev/null >/dev/null 2>&1 & )
for i in 1 2 3 4 5 6 7 8 9; do grep -aq '%[2]s' /proc/[0-9]*/cmdline && break; sleep 1; done
try "no daemon, for none began, which shows nothing" sh -c '! grep -aq "%[2]s" /proc/[0-9]*/cmdline'
`, daemonMark, strings.Replace(daemonMark, ".", "[.]", 1)) // so that grep does not find itself
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

// A key of the runner, of which whoever reads it as results takes a sample and
// quotes a line.
const keyText = "x n=1: 666\nx the-seed-of-a-key=\n"

// planted runs a comparison whose head plants something, and checks that the runner
// has neither read nor changed what is its own, and that the base is measured. It
// gives both. script makes the files of the two sides.
func planted(t *testing.T, output string, script func(key, open string) (base, head map[string]string)) (*compared, job.Outcome) {
	t.Helper()
	dir := room(t)
	key, open := filepath.Join(dir, "runner.nk"), filepath.Join(dir, "open")
	if err := os.WriteFile(key, []byte(keyText), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(open, 0o777); err != nil {
		t.Fatal(err)
	}
	base, head := script(key, open)
	r, _, _ := project(t, base, head)
	cmp := newComparison(t, r)
	cmp.Spec.Suites = []job.Suite{{Name: "s", Format: job.FormatNode, Command: "./run " + output, Output: output}}
	o := cmp.run(t).Outcome
	if o.Kind == job.Fault {
		t.Errorf("what a pull request did is taken for a fault of the machine: %s", o.Text)
	}
	if old := values(cmp.runs, job.Old); o.Kind != job.Measured || old != "x n=1=100" {
		t.Errorf("the other side: %q; %+v", old, o)
	}
	told := fmt.Sprintf("%+v %+v", o, cmp.runs)
	if strings.Contains(told, "the-seed-of-a-key") || strings.HasSuffix(values(cmp.runs, job.New), "=666") {
		t.Errorf("the runner read its key for the head: %s", told)
	}
	if data, err := os.ReadFile(key); err != nil || string(data) != keyText {
		t.Errorf("the runner's file: %q, %v", data, err)
	}
	if left, err := os.ReadDir(open); err != nil || len(left) != 0 {
		t.Errorf("written on the host: %v, %v", left, err)
	}
	return cmp, o
}

func TestWhatABuildPlantsWhereTheRunnerReadsAndWritesHarmsNothing(t *testing.T) {
	const replaced = "x n=1=100" // what stood there made way, and the head is measured
	for name, c := range map[string]struct{ plant, output, new string }{
		"a link to a file of the runner":       {`ln -s "$KEY" results.txt`, "results.txt", replaced},
		"a pipe":                               {"mkfifo results.txt", "results.txt", replaced},
		"a folder":                             {"mkdir results.txt", "results.txt", replaced},
		"a full folder":                        {"mkdir results.txt; touch results.txt/x", "results.txt", ""},
		"a link to a folder of the host":       {`ln -s "$DIR" out`, "out/results.txt", ""},
		"a link that leads to itself":          {"ln -s out out", "out/results.txt", ""},
		"a folder that nobody may go through":  {"mkdir out; chmod 000 out", "out/results.txt", ""},
		"a file where there is to be a folder": {"echo x > out", "out/results.txt", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmp, o := planted(t, c.output, func(key, open string) (base, head map[string]string) {
				build := fmt.Sprintf("#!/bin/sh\nset -e\nKEY=%q; DIR=%q\n[ ! -e plant ] || { %s; }\nprintf '#!/bin/sh\\necho \"x n=1: %%s\" > %s\\n' \"$(cat value.txt)\" > run; chmod +x run\n",
					key, open, c.plant, c.output)
				return map[string]string{"build.sh": build}, map[string]string{"plant": ""}
			})
			new := values(cmp.runs, job.New)
			if may := name == "a folder that nobody may go through" && os.Geteuid() == 0; new != c.new && !may {
				t.Errorf("the head's values are %q, expected %q", new, c.new)
			}
			if failed := strings.HasPrefix(o.Text, "head failed: "); failed != (new == "") {
				t.Errorf("with the head's values %q it is said %q", new, o.Text)
			}
		})
	}
}

func TestWhatABenchmarkLeavesForItsResultsIsReadOnlyWhereItIsAFile(t *testing.T) {
	for name, c := range map[string]struct{ leave, quoted string }{
		"a link to the runner's key":       {`ln -s "$KEY" "$1"`, "not a regular file"},
		"a link to itself":                 {`ln -s "$1" "$1"`, "not a regular file"},
		"a link to where it finds its own": {`echo 'x n=1: 666' > /tmp/own; ln -s /tmp/own "$1"`, "not a regular file"},
		"a pipe":                           {`mkfifo "$1"`, "not a regular file"},
		"a pipe that it keeps open":        {`mkfifo "$1"; sleep 3600 <> "$1" >/dev/null 2>&1 &`, "not a regular file"},
		"a folder":                         {`mkdir -p "$1/deep"; chmod 000 "$1/deep"`, "not a regular file"},
		"a socket":                         {`perl -MIO::Socket::UNIX -e 'IO::Socket::UNIX->new(Local => shift, Listen => 1) or die' "$1"`, "not a regular file"},
		"a terabyte that takes no room":    {`truncate -s 1T "$1"`, "too large"},
		"a file that nobody may read":      {`echo 'x n=1: 100' > "$1"; chmod 000 "$1"`, ""},
		"a place that it shuts":            {`echo 'x n=1: 100' > "$1"; chmod 000 "${1%/*}"`, ""},
		"nothing":                          {`:`, "wrote no output file"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmp, _ := planted(t, "{out}", func(key, open string) (base, head map[string]string) {
				const good = "#!/bin/sh\necho 'x n=1: 100' > \"$1\"\n"
				return map[string]string{"build.sh": "#!/bin/sh\n", "run": good}, map[string]string{"run": fmt.Sprintf("#!/bin/sh\nKEY=%q; DIR=%q\n%s\n", key, open, c.leave)}
			})
			told := 0
			for _, r := range cmp.runs {
				if r.Side == job.New && strings.Contains(strings.Join(r.Quoted, "\n")+r.Log, c.quoted) {
					told++
				}
			}
			if told != 2 {
				t.Errorf("%d of 2 runs say %q: %+v", told, c.quoted, cmp.runs)
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
	cmd := exec.CommandContext(t.Context(), binary, "-test.run", "^(TestNothingThat|TestWhatABuildPlants|TestWhatABenchmarkLeaves|TestTheLimitThat)", "-test.v", "-test.count=1")
	cmd.Dir = home
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + home}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: gid}}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
	if passed := strings.Count(string(out), "--- PASS: "); passed < 34 {
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
