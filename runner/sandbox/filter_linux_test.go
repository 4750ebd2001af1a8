package sandbox

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestAPayloadMakesOnlySocketsOfItsNetworkNamespace(t *testing.T) {
	s := newSandbox(t, Config{})
	const script = `for $f (@ARGV) { print "$f ", (socket(S, $f, SOCK_STREAM, 0) ? "made" : $!{EAFNOSUPPORT} ? "refused" : "other: $!"), "\n" }`
	o := run(t, s, Command{Argv: []string{"perl", "-MSocket", "-MErrno", "-e", script, "1", "2", "10", "38", "40", "31"}})
	if want := "1 made\n2 made\n10 made\n38 refused\n40 refused\n31 refused\n"; string(o.Stdout) != want {
		t.Errorf("sockets by family: %s%s", o.Stdout, o.LogTail)
	}
}

func TestAPayloadReachesNeitherKeyRingsNorUring(t *testing.T) {
	numbers, ok := abis[runtime.GOARCH]
	if !ok {
		t.Fatalf("no system call filter for %s", runtime.GOARCH)
	}
	s := newSandbox(t, Config{})
	for name, c := range map[string]struct {
		call  string
		errno unix.Errno
	}{
		"keyctl":         {fmt.Sprintf("%d, 0, -3, 0", numbers[0].keyctl), unix.EPERM},
		"request_key":    {fmt.Sprintf("%d, 0, 0, 0", numbers[0].requestKey), unix.EPERM},
		"io_uring_setup": {"425, 0, 0", unix.ENOSYS},
	} {
		o := run(t, s, Command{Argv: []string{"perl", "-e", "syscall(" + c.call + "); print $!+0"}})
		if got := strings.TrimSpace(string(o.Stdout)); got != fmt.Sprint(int(c.errno)) {
			t.Errorf("%s: error %s, expected %d: %s", name, got, int(c.errno), o.LogTail)
		}
	}
	if o := run(t, s, Command{Argv: shell("grep Seccomp: /proc/self/status")}); string(o.Stdout) != "Seccomp:\t2\n" {
		t.Errorf("status %q", o.Stdout)
	}
}

// verdict runs the filter as the kernel does.
func verdict(t *testing.T, code []unix.SockFilter, arch, number, arg0 uint32) uint32 {
	t.Helper()
	data := map[uint32]uint32{offsetArch: arch, offsetNumber: number, offsetArg0: arg0}
	var acc uint32
	for pc := 0; pc < len(code); pc++ {
		i := code[pc]
		jump := false
		switch i.Code {
		case unix.BPF_LD | unix.BPF_W | unix.BPF_ABS:
			acc = data[i.K]
			continue
		case unix.BPF_RET | unix.BPF_K:
			return i.K
		case unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K:
			jump = acc == i.K
		case unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K:
			jump = acc >= i.K
		default:
			t.Fatalf("instruction %d: %+v", pc, i)
		}
		if jump {
			pc += int(i.Jt)
		} else {
			pc += int(i.Jf)
		}
	}
	t.Fatal("the program ends without a verdict")
	return 0
}

func TestTheFilterJudgesEveryABIOfEachMachine(t *testing.T) {
	for machine := range abis {
		code := program(machine)
		for i, b := range abis[machine] {
			for about, c := range map[string]struct{ number, arg0, want uint32 }{
				"read":            {3, 40, unix.SECCOMP_RET_ALLOW},
				"a unix socket":   {b.socket, unix.AF_UNIX, unix.SECCOMP_RET_ALLOW},
				"an inet socket":  {b.socket, unix.AF_INET, unix.SECCOMP_RET_ALLOW},
				"a netlink one":   {b.socket, unix.AF_NETLINK, unix.SECCOMP_RET_ALLOW},
				"a vsock":         {b.socket, unix.AF_VSOCK, fails(unix.EAFNOSUPPORT)},
				"an alg socket":   {b.socket, unix.AF_ALG, fails(unix.EAFNOSUPPORT)},
				"keyctl":          {b.keyctl, 0, fails(unix.EPERM)},
				"io_uring_enter":  {426, 0, fails(unix.ENOSYS)},
				"the latest call": {470, 0, unix.SECCOMP_RET_ALLOW},
			} {
				if got := verdict(t, code, b.arch, c.number, c.arg0); got != c.want {
					t.Errorf("%s, ABI %d: %s: %#x, expected %#x", machine, i, about, got, c.want)
				}
			}
			if b.foreignFrom != 0 && verdict(t, code, b.arch, b.foreignFrom|b.socket, unix.AF_VSOCK) != fails(unix.ENOSYS) {
				t.Errorf("%s: the x32 way in is open", machine)
			}
			if b.socketcall != 0 && verdict(t, code, b.arch, b.socketcall, 1) != fails(unix.ENOSYS) {
				t.Errorf("%s: socketcall is open", machine)
			}
		}
		if got := verdict(t, code, unix.AUDIT_ARCH_PPC64, 3, 0); got != unix.SECCOMP_RET_KILL_PROCESS {
			t.Errorf("%s: a call by a foreign ABI: %#x", machine, got)
		}
	}
	if program("riscv64") != nil {
		t.Error("a program for a machine whose calls are not known")
	}
}
