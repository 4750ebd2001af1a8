package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// launch is one payload on its way: a process that waits at a gate until the limits are in force.
type launch struct {
	s      *Sandbox
	c      Command
	group  *leaf // nil without cgroups
	cmd    *exec.Cmd
	child  []*os.File // ends of pipes and files that the child has, closed here once it is started
	gate   *os.File   // a byte lets the payload go
	mark   []byte     // of bubblewrap's processes
	killed atomic.Bool
	proc   process
}

// start starts c and opens its gate. It returns when the payload can run, or why not.
func (s *Sandbox) start(c Command, stdout, stderr *os.File) (*process, error) {
	started := make(chan error, 1)
	l := &launch{s: s, c: c}
	l.proc.done = make(chan struct{})
	go func() {
		// The kernel ties "die with the parent" to the thread that started the child: it must live as long.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		l.live(stdout, stderr, started)
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return &l.proc, nil
}

// live is the life of one payload, on one thread.
func (l *launch) live(stdout, stderr *os.File, started chan<- error) {
	defer close(l.proc.done)
	if err := closeOnExec(); err != nil {
		started <- fmt.Errorf("keep descriptors from the payload: %w", err)
		return
	}
	if g := l.s.sys.groups; g != nil {
		var err error
		if l.group, err = g.newLeaf(l.s.cfg, l.s.cpus); err != nil {
			started <- fmt.Errorf("make control group: %w", err)
			return
		}
	}
	if t := l.group.newThrash(l.s.cfg.Memory); t != nil {
		l.proc.stuck = t.look
	}
	if l.s.cfg.Kind == None {
		l.liveBare(stdout, stderr, started)
	} else {
		l.liveBwrap(stdout, stderr, started)
	}
}

// command prepares the child process that argv is: an own session, the payloads' user, the control group, a clean environment.
func (l *launch) command(file string, argv, env []string, stdout, stderr *os.File) {
	l.cmd = &exec.Cmd{Path: file, Args: argv, Env: env, Stdout: stdout, Stderr: stderr}
	l.cmd.ExtraFiles = l.child
	// An own session keeps the terminal's Ctrl-C from it: what to stop, and when, is for the runner to say.
	attr := &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	if l.s.acct.drop {
		attr.Credential = &syscall.Credential{Uid: uint32(l.s.acct.uid), Gid: uint32(l.s.acct.gid)}
	}
	if l.group != nil && l.group.fd != nil {
		attr.UseCgroupFD, attr.CgroupFD = true, int(l.group.fd.Fd())
	}
	l.cmd.SysProcAttr = attr
}

func (l *launch) closeChild() {
	closeFiles(l.child...)
	l.child = nil
}

// fail gives up a launch whose payload has not been let go. f is nil where it is not known yet.
func (l *launch) fail(started chan<- error, err error, f *first) {
	l.closeChild()
	if f != nil {
		f.kill()
	}
	if l.cmd != nil && l.cmd.Process != nil {
		l.cmd.Process.Kill()
		l.cmd.Wait()
	}
	if f != nil {
		if _, e := f.reap(); e != nil {
			err = errors.Join(err, e)
		}
	} else if l.mark != nil {
		// Its child may wait for it for ever.
		if e := killRun(0, l.mark); e != nil {
			err = errors.Join(err, e)
		}
	}
	if l.gate != nil {
		l.gate.Close()
	}
	if e := l.group.remove(); e != nil {
		err = errors.Join(err, e)
	}
	started <- err
}

// liveBwrap runs the payload in bubblewrap.
func (l *launch) liveBwrap(stdout, stderr *os.File, started chan<- error) {
	adopt()
	defer unadopt()
	status, err := l.prepareBwrap(stdout, stderr)
	if err != nil {
		l.fail(started, err, nil)
		return
	}
	defer status.Close()
	if err := l.s.pinned(l.cmd.Start); err != nil {
		l.fail(started, fmt.Errorf("start bubblewrap: %w", err), nil)
		return
	}
	l.closeChild()
	reports := json.NewDecoder(io.LimitReader(status, 64<<10))
	first, err := l.firstProcess(reports)
	if err != nil {
		l.fail(started, err, nil)
		return
	}
	defer first.close()
	if err := l.limit(first.pid); err != nil {
		if first.gone() {
			err = errSetUp
		}
		l.fail(started, err, first)
		return
	}
	l.proc.kill = func() { l.killed.Store(true); first.kill() }
	l.proc.began = time.Now()
	if _, err := l.gate.Write([]byte{1}); err != nil {
		if errors.Is(err, syscall.EPIPE) {
			err = errSetUp // nobody waits at the gate any more
		}
		l.fail(started, fmt.Errorf("let the payload go: %w", err), first)
		return
	}
	l.gate.Close()
	started <- nil
	l.proc.end = l.endBwrap(first, reports)
}

// prepareBwrap makes the command with its descriptors: 3 options, 4 status, 5 gate, 6… files of /etc and the filter.
func (l *launch) prepareBwrap(stdout, stderr *os.File) (status *os.File, err error) {
	const statusFD, gateFD, dataFD = 4, 5, 6
	options, err := memory("options", joinNUL(l.s.arguments(l.c, dataFD)))
	if err != nil {
		return nil, err
	}
	l.child = append(l.child, options)
	status, statusW, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("status pipe: %w", err)
	}
	l.child = append(l.child, statusW)
	gateR, gate, err := os.Pipe()
	if err != nil {
		status.Close()
		return nil, fmt.Errorf("gate: %w", err)
	}
	l.gate = gate
	l.child = append(l.child, gateR)
	var data [][]byte
	for _, f := range written {
		data = append(data, []byte(f.text))
	}
	if l.s.sys.filter != nil {
		data = append(data, l.s.sys.filter)
	}
	for _, b := range data {
		m, err := memory("data", b)
		if err != nil {
			status.Close()
			return nil, err
		}
		l.child = append(l.child, m)
	}
	argv := []string{"bwrap", "--json-status-fd", strconv.Itoa(statusFD), "--block-fd", strconv.Itoa(gateFD), "--args", "3", "--"}
	l.mark = l.s.newMark()
	l.command(l.s.sys.bwrap, append(append(argv, l.s.sys.limiter...), l.c.Argv...), []string{string(l.mark)}, stdout, stderr)
	return status, nil
}

// firstProcess learns from bubblewrap's first report which process is pid 1 of the payload's namespace. It holds no user code yet.
func (l *launch) firstProcess(reports *json.Decoder) (*first, error) {
	var r struct {
		ChildPID int `json:"child-pid"`
	}
	if err := reports.Decode(&r); err != nil || r.ChildPID <= 0 {
		return nil, errSetUp
	}
	fd, err := unix.PidfdOpen(r.ChildPID, 0)
	if err == unix.ESRCH {
		return nil, errSetUp // it has failed and is gone already
	}
	if err != nil {
		return nil, fmt.Errorf("watch the sandbox's first process: %w", err)
	}
	f := &first{pid: r.ChildPID, fd: fd}
	// A number can have been given to another process meanwhile; a child of our bubblewrap cannot.
	if parent, err := parentOf(f.pid); err != nil || parent != l.cmd.Process.Pid {
		f.close()
		return nil, errSetUp
	}
	if err := unix.PidfdSendSignal(fd, 0, nil, 0); err == unix.ESRCH {
		f.close()
		return nil, errSetUp
	} else if err != nil {
		f.close()
		return nil, fmt.Errorf("the runner may not end processes of the payloads' user (it needs CAP_KILL): %w", err)
	}
	return f, nil
}

var errSetUp = errors.New("bubblewrap could not set up the sandbox")

// endBwrap waits for the payload's end and collects what is known about it.
func (l *launch) endBwrap(f *first, reports *json.Decoder) ending {
	floor := maxRSS(unix.RUSAGE_SELF)
	l.cmd.Wait() // the status is read below, and any
	e := ending{at: time.Now()}
	if ru, ok := l.cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		e.usage = usageOf(ru, floor)
	}
	ru, err := f.reap()
	if err != nil {
		e.err = err
	} else if ru != nil {
		e.usage = e.usage.plus(usageOf(ru, 0))
	}
	ws, _ := l.cmd.ProcessState.Sys().(syscall.WaitStatus)
	e.setStatus(ws)
	var r struct {
		Exit *int `json:"exit-code"`
	}
	reported := reports.Decode(&r) == nil && r.Exit != nil
	l.finish(&e)
	if !reported && !l.killed.Load() && e.limit == "" && e.err == nil && e.signal == "" {
		e.err = errSetUp
	}
	return e
}

// finish asks the control group what happened, ends whatever is left in it, and judges limits that only the status shows.
func (l *launch) finish(e *ending) {
	if l.group != nil {
		e.limit = l.group.hit()
		e.usage.PeakMemory = l.group.peak()
		if err := l.group.remove(); err != nil && e.err == nil {
			e.err = err
		}
	}
	mem := l.s.cfg.Memory
	switch {
	case e.limit != "":
	case e.signal == "SIGXFSZ" && l.s.cfg.FileSize > 0:
		e.limit = LimitFileSize
	case mem > 0 && l.s.facts.Memory == "rlimit" && e.exit != 0 && e.usage.MaxRSS > mem-mem/8:
		e.limit = LimitMemory
	}
}

func (e *ending) setStatus(ws syscall.WaitStatus) {
	e.exit = ws.ExitStatus()
	if ws.Signaled() {
		e.exit = 128 + int(ws.Signal())
	}
	if e.exit > 128 && e.exit < 128+32 {
		e.signal = unix.SignalName(syscall.Signal(e.exit - 128))
	}
}

// first is pid 1 of a payload's namespace: when it is gone, the kernel has ended all others there.
type first struct {
	pid, fd int
	mu      sync.Mutex
	closed  bool
}

func (f *first) kill() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.closed {
		unix.PidfdSendSignal(f.fd, unix.SIGKILL, nil, 0)
	}
}

// gone tells whether the process has ended.
func (f *first) gone() bool {
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(f.fd), Events: unix.POLLIN}}, 0)
	return err == nil && n > 0
}

func (f *first) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.closed {
		f.closed = true
		unix.Close(f.fd)
	}
}

// killDelay is how long the kernel may take to end the processes of a run.
const killDelay = 20 * time.Second

// reap kills the first process, waits for its end, and returns what it and its children used: bubblewrap leaves at once with the
// payload's status and leaves it to us, who adopted it. It is nil when bubblewrap waited for it after all.
func (f *first) reap() (*syscall.Rusage, error) {
	f.kill()
	for end := time.Now().Add(killDelay); ; {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(f.fd), Events: unix.POLLIN}}, int(time.Until(end).Milliseconds()))
		if err == unix.EINTR {
			continue
		}
		if n == 0 || err != nil {
			return nil, fmt.Errorf("processes of the payload are still there %v after they were killed", killDelay)
		}
		break
	}
	var ru syscall.Rusage
	for {
		_, err := syscall.Wait4(f.pid, nil, 0, &ru)
		switch err {
		case syscall.EINTR:
		case nil:
			return &ru, nil
		default:
			return nil, nil
		}
	}
}

// adopted counts the runs which need orphans of their bubblewrap to come to this process.
var adopted struct {
	sync.Mutex
	n int
}

func adopt() {
	adopted.Lock()
	defer adopted.Unlock()
	if adopted.n++; adopted.n == 1 {
		unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	}
}

func unadopt() {
	adopted.Lock()
	defer adopted.Unlock()
	if adopted.n--; adopted.n == 0 {
		unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
	}
}

// memory is an anonymous file in memory that holds b, to be read from its start.
func memory(name string, b []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("make %s: %w", name, err)
	}
	f := os.NewFile(uintptr(fd), name)
	if _, err := f.WriteAt(b, 0); err != nil {
		f.Close()
		return nil, fmt.Errorf("make %s: %w", name, err)
	}
	return f, nil
}

func joinNUL(args []string) []byte {
	var b []byte
	for _, a := range args {
		b = append(append(b, a...), 0)
	}
	return b
}
