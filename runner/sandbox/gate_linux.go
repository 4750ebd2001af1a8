package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// gate is where a payload waits, in its finished sandbox and under its limits, for the word to begin. It is held by a shell that runs
// nothing of the payload's, reads nothing that the payload's author has written, and becomes the payload.
type gate struct {
	ready *os.File // a byte says that the gate is reached
	word  *os.File // a line opens it
}

// gateScript holds the gate: it writes to the second descriptor, waits for a line on the first, and becomes its arguments.
const gateScript = `echo >&%[2]d && read -r _ <&%[1]d || exit 126; exec %[1]d<&- %[2]d>&-; exec "$@"`

// gateDelay is how long it may take to reach a gate; a machine that swaps can be slow.
const gateDelay = 2 * time.Minute

// make makes the gate and returns the ends that the child has, in the order of their descriptors.
func (g *gate) make() ([]*os.File, error) {
	wordR, word, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("gate: %w", err)
	}
	g.word = word
	ready, readyW, err := os.Pipe()
	if err != nil {
		return []*os.File{wordR}, fmt.Errorf("gate: %w", err)
	}
	g.ready = ready
	return []*os.File{wordR, readyW}, nil
}

// reached waits until the child is at the gate.
func (g *gate) reached() error {
	if err := g.ready.SetReadDeadline(time.Now().Add(gateDelay)); err != nil {
		return fmt.Errorf("wait for the sandbox: %w", err)
	}
	_, err := g.ready.Read(make([]byte, 1))
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("the sandbox was not ready after %v", gateDelay)
	case err != nil:
		return errSetUp
	}
	return g.ready.Close()
}

// open lets the payload begin.
func (g *gate) open() error {
	defer g.word.Close()
	if _, err := g.word.Write([]byte("\n")); err != nil {
		if errors.Is(err, syscall.EPIPE) || errors.Is(err, os.ErrClosed) {
			return errSetUp // nobody waits at the gate any more
		}
		return fmt.Errorf("let the payload go: %w", err)
	}
	return nil
}

func (g *gate) close() { closeFiles(g.word, g.ready) }

// gated is the command line that puts resource limits on itself, waits at the gate whose descriptors begin with fd, and becomes the
// payload of c. What the command names for its environment comes after the gate: it may tell a program's loader what to run.
func (s *Sandbox) gated(c Command, fd int) []string {
	argv := append([]string{}, s.sys.limiter...)
	argv = append(argv, "/bin/sh", "-c", fmt.Sprintf(gateScript, fd, fd+1), "sh")
	argv = append(argv, s.sys.pinner...)
	if len(c.Env) > 0 {
		argv = append(append(argv, "/usr/bin/env"), c.Env...)
	}
	return append(argv, c.Argv...)
}

// findGate prepares what begins a payload's command line: prlimit(1), since the runner cannot limit a process of another user without a
// capability that containers do not have, and for the same reason taskset(1).
func (s *Sandbox) findGate() error {
	limiter, err := utility("prlimit")
	if err != nil {
		return err
	}
	s.sys.limiter, s.sys.pinner = []string{limiter}, nil
	for _, l := range s.resourceLimits() {
		arg, err := l.argument()
		if err != nil {
			return err
		}
		s.sys.limiter = append(s.sys.limiter, arg)
	}
	s.sys.limiter = append(s.sys.limiter, "--")
	s.sys.cores = coresOf(os.DirFS("/"), s.cpus)
	if len(s.cpus) > 0 {
		pinner, err := utility("taskset")
		if err != nil {
			return err
		}
		s.sys.pinner = []string{pinner, "--cpu-list", formatCPUs(s.cpus)}
	}
	return nil
}

// utility finds a program of util-linux where payloads find it too.
func utility(name string) (string, error) {
	file, err := exec.LookPath("/usr/bin/" + name)
	if err != nil {
		return "", &SetupError{Cause: CauseMissing, Problem: name + " is not installed", Detail: err.Error(), Fix: "install it: `apt-get install util-linux`"}
	}
	return file, nil
}

func (s *Sandbox) resourceLimits() []resourceLimit {
	// A core limit of one byte is the only one that keeps a crash from the machine's dump handler as well as from a file.
	limits := []resourceLimit{{"core", unix.RLIMIT_CORE, 1}}
	if s.cfg.FileSize > 0 {
		limits = append(limits, resourceLimit{"fsize", unix.RLIMIT_FSIZE, s.cfg.FileSize})
	}
	if s.facts.Memory == "rlimit" {
		// The address space is no measure: runtimes reserve far more than they use.
		limits = append(limits, resourceLimit{"data", unix.RLIMIT_DATA, s.cfg.Memory})
	}
	if s.facts.Pids == "rlimit" {
		limits = append(limits, resourceLimit{"nproc", unix.RLIMIT_NPROC, int64(s.cfg.Pids)})
	}
	return limits
}

type resourceLimit struct {
	name     string
	resource int
	max      int64
}

// argument is the option of prlimit(1) for l, no higher than what the runner itself is held to.
func (l resourceLimit) argument() (string, error) {
	var own unix.Rlimit
	if err := unix.Getrlimit(l.resource, &own); err != nil {
		return "", fmt.Errorf("read resource limit %s: %w", l.name, err)
	}
	return fmt.Sprintf("--%s=%d", l.name, min(uint64(l.max), own.Max)), nil
}

// Ahead tells whether a sandbox can be made while another payload is measured without a disturbance: it is made on the CPUs of the
// runner, which are none of the payloads' and share no core with them.
func (s *Sandbox) Ahead() bool {
	if s.cfg.Kind == None || len(s.cpus) == 0 {
		return false
	}
	var own unix.CPUSet
	if err := unix.SchedGetaffinity(0, &own); err != nil {
		return false
	}
	return !slices.ContainsFunc(s.sys.cores, own.IsSet)
}

// coresOf are the CPUs and those that share a core with one of them, as the system below root tells.
func coresOf(root fs.FS, cpus []int) []int {
	all := slices.Clone(cpus)
	for _, c := range cpus {
		text, err := fs.ReadFile(root, fmt.Sprintf("sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", c))
		if err != nil {
			continue
		}
		if list, err := parseCPUs(trim(text)); err == nil {
			all = append(all, list...)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// limit puts a process that has not begun into its control group; whatever it starts is born there.
func (l *launch) limit(pid int) error {
	if err := l.group.attach(pid); err != nil {
		return err
	}
	// When the machine runs out of memory, the payload goes before the runner. Where this is not allowed, the default stands.
	_ = os.WriteFile("/proc/"+strconv.Itoa(pid)+"/oom_score_adj", []byte("500"), 0)
	return nil
}
