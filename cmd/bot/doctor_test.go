package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/prbench/prbench/internal/queue"
)

// patient is a runner's machine that lacks nothing, beside a running serve.
type patient struct {
	*world
	path string // of its programs
}

func newPatient(t *testing.T) *patient {
	t.Helper()
	p := &patient{world: &world{t: t, dir: t.TempDir(), state: freeAddress(t)}}
	passable(t, p.dir)
	p.write("serve.yaml", "state: {dir: state}\npools: {default: {repositories: [\"acme/*\"]}}\n")
	q, err := queue.Open(t.Context(), queue.Options{Dir: filepath.Join(p.dir, "state"), Listen: p.state})
	p.ok(err)
	t.Cleanup(q.Close)
	p.enroll("box")
	p.ok(os.Mkdir(filepath.Join(p.dir, "work-box"), 0o711))
	p.path = filepath.Join(p.dir, "bin")
	p.ok(os.Mkdir(p.path, 0o755))
	for _, name := range []string{"bwrap", "git", "taskset"} {
		p.ok(link(p.path, name))
	}
	return p
}

// link puts a program of this machine into a folder.
func link(dir, name string) error {
	at, err := exec.LookPath(name)
	if err != nil {
		return err
	}
	return os.Symlink(at, filepath.Join(dir, name))
}

// change writes another runner.yaml.
func (p *patient) change(old, text string) {
	p.t.Helper()
	was := p.read("box.yaml")
	if !strings.Contains(was, old) {
		p.t.Fatalf("no %q in %q", old, was)
	}
	p.write("box.yaml", strings.Replace(was, old, text, 1))
}

// asks runs the command, and gives its exit status and its two outputs.
func (p *patient) asks(args ...string) (code int, out, errs string) {
	p.t.Helper()
	cmd := command(p.t, p.dir, append([]string{"doctor"}, args...)...)
	cmd.Env = slices.DeleteFunc(cmd.Env, func(kv string) bool { return strings.HasPrefix(kv, "PATH=") })
	cmd.Env = append(cmd.Env, "PATH="+p.path)
	var o, e strings.Builder
	cmd.Stdout, cmd.Stderr = &o, &e
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		p.t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), o.String(), e.String()
}

func TestTheDoctorNamesWhatEveryJobWouldFailBy(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(p *patient)
		row    string // of the output: state, name, and what is said
		failed string // what standard error names; "": the machine is well
	}{
		"nothing": {func(*patient) {}, `ok +serve +nats://\S+ answers, and knows this runner's key`, ""},
		"no git": {func(p *patient) { p.ok(os.Remove(filepath.Join(p.path, "git"))) },
			`fails +git +git is not installed: .*install it \(apt-get install git\), version 2\.39 or later`, "git"},
		"an old git": {func(p *patient) {
			p.ok(os.Remove(filepath.Join(p.path, "git")))
			p.ok(os.WriteFile(filepath.Join(p.path, "git"), []byte("#!/bin/sh\necho git version 2.34.1\n"), 0o755))
		}, `fails +git +\S+/git is version 2\.34\.1; install 2\.39 or later`, "git"},
		"no bubblewrap": {func(p *patient) { p.ok(os.Remove(filepath.Join(p.path, "bwrap"))) },
			`fails +sandbox +.*\n.*→ .*apt-get install bubblewrap`, "sandbox"},
		"no serve": {func(p *patient) { p.change(p.state, freeAddress(p.t)) },
			`fails +serve +connect to serve at nats://.*\n.*→ see that .bot serve. runs`, "serve"},
		"a key that nobody enrolled": {func(p *patient) {
			seed, _, err := queue.NewKey()
			p.ok(err)
			p.write("box.nk", seed+"\n")
		}, `fails +serve +\S+ answers, and does not know this runner's key\n.*→ .bot runner enroll.`, "serve"},
		"no key": {func(p *patient) { p.ok(os.Remove(filepath.Join(p.dir, "box.nk"))) }, `fails +key +.*no such file(?s:.*)ok +serve +\S+ answers\n`, "key"},
		"CPUs that are not there": {func(p *patient) { p.change("sandbox: {", `sandbox: {cpus: "1000", `) },
			`fails +sandbox +.*cpus: .*CPU 1000`, "sandbox"},
		"a full disk": {func(p *patient) { p.change("keep_free: 256MiB", "keep_free: 900TiB") },
			`fails +work +\d+ MiB are left on the disk of \S+/work-box, less than sandbox\.keep_free \(943718400 MiB\)`, "work"},
		"a file in place of the work folder": {func(p *patient) { p.change("work: work-box", "work: box.nk") },
			`fails +work +\S+/box\.nk is no folder`, "work"},
		"no work folder yet": {func(p *patient) { p.change("work: work-box", "work: later") },
			`unknown +work +\S+/later is not there yet`, ""},
		"two things": {func(p *patient) {
			p.ok(os.Remove(filepath.Join(p.path, "git")))
			p.change(p.state, freeAddress(p.t))
		}, `fails +git `, "git, serve"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPatient(t)
			c.change(p)
			code, out, errs := p.asks("--config", "box.yaml")
			if !regexp.MustCompile(`(?m)^  `+c.row).MatchString(out) || !strings.Contains(out, "How fit it is for benchmarks:") {
				t.Errorf("want a row %q in\n%s", c.row, out)
			}
			if c.failed == "" {
				if code != exitOK || errs != "" || !strings.Contains(out, "This machine can take jobs.") {
					t.Errorf("exit %d: %s\n%s", code, errs, out)
				}
			} else if code != exitFailed || errs != "bot: this machine cannot take jobs yet: "+c.failed+"\n" || strings.Contains(out, "can take jobs") {
				t.Errorf("exit %d: %s\n%s", code, errs, out)
			}
			if left, err := os.ReadDir(filepath.Join(p.dir, "work-box")); err != nil || len(left) != 0 {
				t.Errorf("left in the work folder: %v, %v", left, err)
			}
		})
	}
}

// The configuration is everybody's to read; the key is root's.
func TestTheDoctorNeedsNoKeyToLookAtTheConfiguration(t *testing.T) {
	t.Parallel()
	p := newPatient(t)
	if os.Geteuid() != 0 {
		p.ok(os.Chmod(filepath.Join(p.dir, "box.nk"), 0))
	} else {
		p.ok(os.Chmod(filepath.Join(p.dir, "box.yaml"), 0o644))
		p.change("work: work-box", "work: work-63636")
		p.change(fmt.Sprintf(", user: %q", localUser), "")
		p.ok(errors.Join(os.Mkdir(filepath.Join(p.dir, "work-63636"), 0o711), os.Chown(filepath.Join(p.dir, "work-63636"), 63636, 63636)))
	}
	code, out, errs := p.asUser(63636, "--config", "box.yaml")
	for _, row := range []string{`unknown +key +this user may not read the runner's key`, `ok +serve +\S+ answers\n`, `ok +work `} {
		if !regexp.MustCompile(`(?m)^  ` + row).MatchString(out) {
			t.Errorf("want a row %q in\n%s", row, out)
		}
	}
	if code != exitOK {
		t.Errorf("exit %d: %s\n%s", code, errs, out)
	}
}

// The runner itself moves off the benchmarks' CPUs when it starts, and so does
// the doctor before it judges.
func TestTheDoctorDoesNotBlameAConfigurationThatLeavesTheRunnerACPU(t *testing.T) {
	t.Parallel()
	p := newPatient(t)
	online, err := os.ReadFile("/sys/devices/system/cpu/online")
	p.ok(err)
	own := strings.TrimSpace(string(online))
	if !strings.ContainsAny(own, "-,") {
		t.Fatalf("a machine with one CPU, %q, cannot show it", own)
	}
	first := own[:strings.IndexAny(own, "-,")]
	p.change("sandbox: {", fmt.Sprintf("sandbox: {cpus: %q, ", first))
	code, out, errs := p.asks("--config", "box.yaml")
	if code != exitOK || !regexp.MustCompile(`(?m)^  ok +affinity +benchmarks have CPU `+first+`, the runner has others`).MatchString(out) {
		t.Errorf("one of them: exit %d: %s\n%s", code, errs, out)
	}
	p.change(fmt.Sprintf("cpus: %q", first), fmt.Sprintf("cpus: %q", own))
	code, out, errs = p.asks("--config", "box.yaml")
	if code != exitOK || !strings.Contains(out, "leave a CPU out of sandbox.cpus") {
		t.Errorf("all of them: exit %d: %s\n%s", code, errs, out)
	}
}

func TestTheDoctorTriesTheDefaultsWithoutAConfiguration(t *testing.T) {
	t.Parallel()
	p := newPatient(t)
	args := []string(nil)
	if os.Geteuid() == 0 {
		args = []string{"--user", localUser}
	}
	code, out, errs := p.asks(args...)
	if code != exitOK || !strings.Contains(out, "--config names the runner's configuration") || !strings.Contains(out, "limited by") {
		t.Errorf("exit %d: %s\n%s", code, errs, out)
	}
	p.write("box.yaml", "serve: nats://127.0.0.1:4222\nwork: w\ncpu: 1\n")
	if code, _, errs := p.asks("--config", "box.yaml"); code != exitUsage || !strings.Contains(errs, "box.yaml:3: cpu: unknown key") {
		t.Errorf("a typo: exit %d: %s", code, errs)
	}
}

// asUser runs the command as an ordinary user, which the tests' own user is where
// it is not root. It cannot run the tests' binary where that lies, and gets a copy.
func (p *patient) asUser(uid uint32, args ...string) (code int, out, errs string) {
	p.t.Helper()
	if os.Geteuid() != 0 {
		return p.asks(args...)
	}
	self, err := os.Executable()
	p.ok(err)
	data, err := os.ReadFile(self)
	p.ok(err)
	copied := filepath.Join(p.dir, "bot")
	p.ok(os.WriteFile(copied, data, 0o755))
	cmd := exec.Command(copied, append([]string{"doctor"}, args...)...)
	cmd.Dir = p.dir
	cmd.Env = []string{asBot + "=1", "PATH=" + p.path, "HOME=" + p.dir, "TMPDIR=" + os.TempDir(), "LC_ALL=C"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	var o, e strings.Builder
	cmd.Stdout, cmd.Stderr = &o, &e
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		p.t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), o.String(), e.String()
}
