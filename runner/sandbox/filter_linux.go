package sandbox

import (
	"encoding/binary"

	"golang.org/x/sys/unix"
)

// What namespaces leave open is closed by a system call filter. Sockets of some families (AF_VSOCK, which talks to the hypervisor,
// AF_BLUETOOTH, …) belong to no network namespace; io_uring makes sockets that no filter sees; the kernel's key rings are inherited
// from the runner. Everything else is allowed: benchmarks must run at the speed that they have outside, and the kernel answers for calls
// that a filter always allows without running it.

// abi is one way to make system calls, with its numbers.
type abi struct {
	arch                       uint32
	socket, socketcall         uint32 // socketcall is 0 where there is none
	addKey, requestKey, keyctl uint32
	foreignFrom                uint32 // numbers from here on are another ABI in disguise (x32); 0 for none
}

// abis are those of each machine that Go names, its own first.
var abis = map[string][]abi{
	"amd64": {
		{arch: unix.AUDIT_ARCH_X86_64, socket: 41, addKey: 248, requestKey: 249, keyctl: 250, foreignFrom: 0x40000000},
		{arch: unix.AUDIT_ARCH_I386, socket: 359, socketcall: 102, addKey: 286, requestKey: 287, keyctl: 288},
	},
	"arm64": {
		{arch: unix.AUDIT_ARCH_AARCH64, socket: 198, addKey: 217, requestKey: 218, keyctl: 219},
		{arch: unix.AUDIT_ARCH_ARM, socket: 281, addKey: 309, requestKey: 310, keyctl: 311},
	},
}

// families are the sockets that stay within a network namespace.
var families = []uint32{unix.AF_UNIX, unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK}

// Offsets in the kernel's struct seccomp_data; both machines are little-endian.
const (
	offsetNumber = 0
	offsetArch   = 4
	offsetArg0   = 16
)

// assembler collects a program whose jumps forward are known only later.
type assembler struct {
	code []unix.SockFilter
}

func (a *assembler) add(code uint16, k uint32, jt, jf uint8) {
	a.code = append(a.code, unix.SockFilter{Code: code, Jt: jt, Jf: jf, K: k})
}

func (a *assembler) load(offset uint32) { a.add(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, offset, 0, 0) }
func (a *assembler) ret(action uint32)  { a.add(unix.BPF_RET|unix.BPF_K, action, 0, 0) }

// ifEqual ends with action when the loaded value is k.
func (a *assembler) ifEqual(k, action uint32) {
	a.add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, k, 0, 1)
	a.ret(action)
}

func fails(errno unix.Errno) uint32 { return unix.SECCOMP_RET_ERRNO | uint32(errno) }

// calls is the part of the program for one ABI; it always ends with an action.
func (b abi) calls() []unix.SockFilter {
	var a assembler
	a.load(offsetNumber)
	if b.foreignFrom != 0 {
		a.add(unix.BPF_JMP|unix.BPF_JGE|unix.BPF_K, b.foreignFrom, 0, 1)
		a.ret(fails(unix.ENOSYS))
	}
	for _, ring := range []uint32{425, 426, 427} { // io_uring_setup, _enter, _register, the same everywhere
		a.ifEqual(ring, fails(unix.ENOSYS))
	}
	for _, key := range []uint32{b.addKey, b.requestKey, b.keyctl} {
		a.ifEqual(key, fails(unix.EPERM))
	}
	if b.socketcall != 0 {
		a.ifEqual(b.socketcall, fails(unix.ENOSYS))
	}
	a.add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, b.socket, 1, 0)
	a.ret(unix.SECCOMP_RET_ALLOW)
	a.load(offsetArg0)
	for _, f := range families {
		a.ifEqual(f, unix.SECCOMP_RET_ALLOW)
	}
	a.ret(fails(unix.EAFNOSUPPORT))
	return a.code
}

// program is the filter for a machine that Go names; nil where its system calls are not known here.
func program(machine string) []unix.SockFilter {
	if len(abis[machine]) == 0 {
		return nil
	}
	var a assembler
	a.load(offsetArch)
	for _, b := range abis[machine] {
		part := b.calls()
		a.add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, b.arch, 0, uint8(len(part)))
		a.code = append(a.code, part...)
	}
	a.ret(unix.SECCOMP_RET_KILL_PROCESS)
	return a.code
}

// encode is a program in the form that bubblewrap hands to the kernel.
func encode(code []unix.SockFilter) []byte {
	var b []byte
	for _, i := range code {
		b = binary.NativeEndian.AppendUint16(b, i.Code)
		b = append(b, i.Jt, i.Jf)
		b = binary.NativeEndian.AppendUint32(b, i.K)
	}
	return b
}
