package sandbox

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// openly runs script without a sandbox and as the runner itself, to show that it would succeed: that what stops it is the sandbox.
func openly(t *testing.T, script string) bool {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-c", script)
	cmd.Env = []string{"PATH=" + defaultPath()}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Logf("openly: %s: %v: %s", script, err, out)
	}
	return err == nil
}

func TestAPayloadCannotReadTheHostsSecrets(t *testing.T) {
	s := newSandbox(t, Config{})
	dir := newDir(t)
	key := filepath.Join(dir, "runner.nk")
	if err := os.WriteFile(key, []byte("key of the runner"), 0o644); err != nil { // readable for everybody who can see it
		t.Fatal(err)
	}
	scripts := []string{"cat " + key, "ls " + dir}
	if os.Geteuid() == 0 {
		scripts = append(scripts, "cat /etc/shadow", "ls -a /root", "cat /etc/ssh/ssh_config || ls /var/log")
	}
	for _, script := range scripts {
		if !openly(t, script) {
			t.Errorf("%s: fails without a sandbox too: this shows nothing", script)
		}
		if o := run(t, s, Command{Argv: shell(script)}); o.Exit == 0 {
			t.Errorf("%s: succeeds in the sandbox: %s", script, o.Stdout)
		}
	}
	o := run(t, s, Command{Argv: shell("ls -A / /etc /var /home /opt 2>/dev/null")})
	for _, name := range []string{"shadow", "home:", "root", "var:", "machine-id", "boot"} {
		if slices.Contains(strings.Fields(string(o.Stdout)), name) {
			t.Errorf("the payload sees %s:\n%s", name, o.Stdout)
		}
	}
}

func TestAPayloadCannotMount(t *testing.T) {
	s := newSandbox(t, Config{})
	tree := newDir(t)
	refused := regexp.MustCompile(`(?i)permitted|denied|superuser|must be root|umount failed`)
	for _, script := range []string{
		"mount -o remount,rw /usr", "mount -o remount,rw,bind /src", "mount -t tmpfs none /tmp", "mount --bind /tmp /src", "umount /proc", "umount -l /src",
		"mount -t proc proc /tmp", "chroot /tmp true", "mknod /tmp/disk b 8 0 && head -c 1 /tmp/disk", "hostname other",
	} {
		o := run(t, s, Command{Argv: shell("mkdir -p /tmp/d; " + script), Tree: tree})
		if o.Exit == 0 || !refused.Match(o.LogTail) {
			t.Errorf("%s: exit %d: %s", script, o.Exit, o.LogTail)
		}
	}
}

func TestAPayloadCannotMakeUserNamespaces(t *testing.T) {
	s := newSandbox(t, Config{})
	for _, script := range []string{"unshare --user true", "unshare --user --map-root-user --mount true"} {
		if !openly(t, script) {
			t.Errorf("%s: fails without a sandbox too: this shows nothing", script)
		}
		if o := run(t, s, Command{Argv: shell(script)}); o.Exit == 0 {
			t.Errorf("%s succeeds in the sandbox", script)
		}
	}
}

func TestAPayloadHasNoPrivileges(t *testing.T) {
	s := newSandbox(t, Config{})
	o := run(t, s, Command{Argv: shell("id -u; id -g; id -un; grep -E '^(Cap...|NoNewPrivs):' /proc/self/status | tr -d '\\t'")})
	want := "1000\n1000\nbench\nCapInh:0000000000000000\nCapPrm:0000000000000000\nCapEff:0000000000000000\nCapBnd:0000000000000000\n" +
		"CapAmb:0000000000000000\nNoNewPrivs:1\n"
	if string(o.Stdout) != want {
		t.Errorf("got:\n%s\nwant:\n%s", o.Stdout, want)
	}
}

func TestAPayloadOfARootRunnerIsTheDedicatedUserOnTheHost(t *testing.T) {
	s := newSandbox(t, Config{})
	tree := newTree(t, s)
	run(t, s, Command{Argv: shell("touch made; grep Groups: /proc/self/status > groups"), Tree: tree, Writable: true})
	fi, err := os.Stat(filepath.Join(tree, "made"))
	if err != nil {
		t.Fatal(err)
	}
	st := fi.Sys().(*syscall.Stat_t)
	if int(st.Uid) != s.Facts().UID || int(st.Gid) != s.Facts().GID || os.Geteuid() == 0 && (st.Uid == 0 || st.Gid == 0) {
		t.Errorf("a file made inside belongs to %d:%d, expected %d:%d", st.Uid, st.Gid, s.Facts().UID, s.Facts().GID)
	}
	groups, err := os.ReadFile(filepath.Join(tree, "groups"))
	if err != nil {
		t.Fatal(err)
	}
	if g := strings.Fields(string(groups)); os.Geteuid() == 0 && len(g) > 1 {
		t.Errorf("supplementary groups were kept: %v", g)
	}
}

// writable lists the directories that a payload can write to, wherever they are.
const writable = `find / -path /proc -prune -o -path /dev/pts -prune -o -path '/usr/*/*/*' -prune -o -type d -writable -print 2>/dev/null | sort; 
	for f in /proc/sys/kernel/core_pattern /proc/sys/vm/drop_caches /proc/sysrq-trigger /usr/bin/x /etc/x /dev/x /dev/pts/x /x; do
		(: > $f) 2>/dev/null && echo $f; done; true`

func TestAPayloadCanWriteOnlyToItsOwnPlaces(t *testing.T) {
	s := newSandbox(t, Config{Expose: []string{"/opt"}})
	tree := newTree(t, s)
	if err := os.Mkdir(filepath.Join(tree, "sub"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(tree, "sub"), 0o777); err != nil {
		t.Fatal(err)
	}
	out, err := s.NewOut(newDir(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		about string
		cmd   Command
		want  string
	}{
		{"nothing bound", Command{}, "/dev/shm /tmp"},
		{"measuring", Command{Tree: tree, Out: out}, "/dev/shm /out /tmp"},
		{"building", Command{Tree: tree, Writable: true}, "/dev/shm /src /src/sub /tmp"},
		{"binds", Command{ReadOnly: []Bind{{tree, "/ro"}}, ReadWrite: []Bind{{tree, "/tmp/cache"}}}, "/dev/shm /tmp /tmp/cache /tmp/cache/sub"},
	} {
		c.cmd.Argv = shell(writable)
		o := run(t, s, c.cmd)
		if got := strings.Join(strings.Fields(string(o.Stdout)), " "); got != c.want {
			t.Errorf("%s: a payload can write to %s, expected %s", c.about, got, c.want)
		}
	}
}

func TestTmpIsEmptyInEachRunAndNotTheHosts(t *testing.T) {
	bothKinds(t, func(t *testing.T, kind Kind) {
		s := newSandbox(t, Config{Kind: kind})
		for range 2 {
			o := run(t, s, Command{Argv: shell(`ls -A "$HOME"; echo x > "$HOME/left"; cd "$HOME"; pwd`), Dir: "/tmp"})
			lines := strings.Fields(string(o.Stdout))
			if len(lines) != 1 {
				t.Fatalf("left from before: %q", o.Stdout)
			}
			if _, err := os.Stat(filepath.Join(lines[0], "left")); err == nil {
				t.Errorf("%s/left is there on the host after the run", lines[0])
			}
		}
	})
}

func TestAPayloadReachesNoListenerOfTheHost(t *testing.T) {
	s := newSandbox(t, Config{})
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer tcp.Close()
	name := fmt.Sprintf("prbench-test-%d", os.Getpid())
	abstract, err := net.Listen("unix", "@"+name)
	if err != nil {
		t.Fatal(err)
	}
	defer abstract.Close()
	for about, script := range map[string]string{
		"loopback":        fmt.Sprintf("bash -c 'exec 3<>/dev/tcp/127.0.0.1/%d'", tcp.Addr().(*net.TCPAddr).Port),
		"abstract socket": fmt.Sprintf(`perl -MSocket -e 'socket(S, PF_UNIX, SOCK_STREAM, 0); connect(S, pack("Sa*", AF_UNIX, "\0%s")) or exit 1'`, name),
	} {
		if !openly(t, script) {
			t.Errorf("%s: fails without a sandbox too: this shows nothing", about)
		}
		if o := run(t, s, Command{Argv: shell(script)}); o.Exit == 0 {
			t.Errorf("%s: the payload reaches the host's listener", about)
		}
	}
	o := run(t, s, Command{Argv: shell("tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '")})
	if string(o.Stdout) != "lo\n" {
		t.Errorf("network interfaces inside: %q", o.Stdout)
	}
}

func TestAPayloadHasALoopbackOfItsOwn(t *testing.T) {
	s := newSandbox(t, Config{})
	o := run(t, s, Command{Argv: []string{"perl", "-MSocket", "-e", `
		socket(L, PF_INET, SOCK_STREAM, 0); bind(L, sockaddr_in(4711, INADDR_LOOPBACK)) or die "bind: $!"; listen(L, 1);
		socket(C, PF_INET, SOCK_STREAM, 0); connect(C, sockaddr_in(4711, INADDR_LOOPBACK)) or die "connect: $!"; print "connected\n"`}})
	if string(o.Stdout) != "connected\n" {
		t.Errorf("exit %d: %s", o.Exit, o.LogTail)
	}
}

func TestAPayloadNeitherSeesNorSignalsProcessesOfTheHost(t *testing.T) {
	s := newSandbox(t, Config{})
	// A process of the payloads' own user, which only the namespace protects.
	other := exec.Command("/bin/sleep", "3600")
	if os.Geteuid() == 0 {
		other.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(s.acct.uid), Gid: uint32(s.acct.gid)}}
	}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- other.Wait() }()
	o := run(t, s, Command{Argv: shell(fmt.Sprintf("cat /proc/[0-9]*/cmdline | tr '\\0' ' '; ls -d /proc/[0-9]* | wc -l >&2; kill -9 %d; kill -9 -1", other.Process.Pid))})
	if strings.Contains(string(o.Stdout), "sleep 3600") || strings.Contains(string(o.Stdout), os.Args[0]) {
		t.Errorf("processes that the payload sees: %s", o.Stdout)
	}
	select {
	case err := <-ended:
		t.Errorf("the payload ended a process of the host: %v", err)
	default:
		other.Process.Kill()
		<-ended
	}
}

func TestAPayloadGetsOnlyTheEnvironmentThatIsNamed(t *testing.T) {
	const secret = "hunter2-of-the-runner"
	t.Setenv("PRBENCH_TOKEN", secret)
	bothKinds(t, func(t *testing.T, kind Kind) {
		s := newSandbox(t, Config{Kind: kind})
		o := run(t, s, Command{Argv: shell("env; cat /proc/self/environ /proc/$PPID/environ"), Env: []string{"NODE_ENV=production", "LANG=C", "EMPTY="}})
		if kind == Bubblewrap && strings.Contains(string(o.Stdout), secret) {
			t.Errorf("the runner's environment is visible: %s", o.Stdout)
		}
		o = run(t, s, Command{Argv: shell("env | cut -d= -f1"), Env: []string{"NODE_ENV=production", "LANG=C", "EMPTY="}})
		got := strings.Fields(string(o.Stdout))
		slices.Sort(got)
		want := []string{"EMPTY", "HOME", "LANG", "NODE_ENV", "PATH", "PWD"}
		if kind == None {
			want = []string{"EMPTY", "HOME", "LANG", "NODE_ENV", "PATH", markName, "PWD", "TMPDIR"}
		}
		if !slices.Equal(got, want) {
			t.Errorf("variables %v, expected %v", got, want)
		}
		o = run(t, s, Command{Argv: shell(`echo "$LANG $NODE_ENV"`), Env: []string{"NODE_ENV=production", "LANG=C"}})
		if string(o.Stdout) != "C production\n" {
			t.Errorf("values: %q", o.Stdout)
		}
	})
	s := newSandbox(t, Config{})
	o := run(t, s, Command{Argv: shell("cat /proc/[0-9]*/environ; tr '\\0' ' ' < /proc/1/cmdline"), Tree: newDir(t)})
	if strings.Contains(string(o.Stdout), secret) || strings.Contains(string(o.Stdout), "prbench-sandbox-test") {
		t.Errorf("bubblewrap's own process tells about the host: %s", o.Stdout)
	}
}

func TestAPayloadInheritsNoDescriptors(t *testing.T) {
	// As a shell or a service manager may start the runner: with a descriptor that nobody marked.
	fd, err := unix.Open("/etc/hostname", unix.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	bothKinds(t, func(t *testing.T, kind Kind) {
		s := newSandbox(t, Config{Kind: kind})
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETFD, 0); err != nil {
			t.Fatal(err)
		}
		o := run(t, s, Command{Argv: shell(`ls -l /proc/$$/fd; ls -l /proc/1/fd >&2; true`)})
		found := regexp.MustCompile(`(\d+) -> (\S+)`).FindAllStringSubmatch(string(o.Stdout), -1)
		if len(found) != 3 || found[0][0] != "0 -> /dev/null" || found[1][1] != "1" || found[2][1] != "2" {
			t.Errorf("descriptors of the payload, expected 0 to 2 and /dev/null as the first:\n%s", o.Stdout)
		}
		if kind == Bubblewrap && regexp.MustCompile(`memfd|hostname|socket`).Match(o.LogTail) {
			t.Errorf("descriptors of the sandbox's first process:\n%s", o.LogTail)
		}
	})
}

func TestExposedPathsAreSeenReadOnly(t *testing.T) {
	dir := newDir(t)
	if err := os.WriteFile(filepath.Join(dir, "tool"), []byte("#!/bin/sh\necho the tool ran\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	// The tests' own directories are in /tmp, which cannot be exposed as such: bind it instead where a configuration would name it.
	s := newSandbox(t, Config{})
	o := run(t, s, Command{Argv: shell("/opt/tools/tool; touch /opt/tools/x"), ReadOnly: []Bind{{dir, "/opt/tools"}}})
	if string(o.Stdout) != "the tool ran\n" || o.Exit == 0 {
		t.Errorf("exit %d: %s", o.Exit, o.LogTail)
	}
}

func TestAPayloadCanOpenItsStandardStreamsAnew(t *testing.T) {
	s := newSandbox(t, Config{})
	o := run(t, s, Command{Argv: shell("echo row > /dev/stdout; echo note > /dev/stderr")})
	if string(o.Stdout) != "row\n" || !strings.Contains(string(o.LogTail), "note\n") || !o.OK() {
		t.Errorf("exit %d, output %q, log %q", o.Exit, o.Stdout, o.LogTail)
	}
}
