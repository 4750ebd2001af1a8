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
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// launch is one payload on its way: a process that waits at its gate.
type launch struct {
	s      *Sandbox
	c      Command
	group  *leaf // nil without cgroups
	cmd    *exec.Cmd
	child  []*os.File // ends of pipes and files that the child has, closed here once it is started
	limits *os.File   // a byte tells bubblewrap that the limits are in force
	gate   gate
	mark   []byte // of bubblewrap's processes
	killed atomic.Bool
	lost   bool // the thread is not to be used again
	proc   process
}

// start makes everything for c and holds it at its gate, which begin of the process opens. The process has the writing ends of the pipes.
func (s *Sandbox) start(c Command, out *pipes) (*process, error) {
	started := make(chan error, 1)
	l := &launch{s: s, c: c}
	l.proc.done = make(chan struct{})
	go func() {
		// The kernel ties "die with the parent" to the thread that started the child: it must live as long.
		runtime.LockOSThread()
		l.live(out.outW, out.errW, started)
		if !l.lost {
			runtime.UnlockOSThread()
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	out.closeWriters()
	return &l.proc, nil
}

// live is the life of one payload, on one thread.
func (l *launch) live(stdout, stderr *os.File, started chan<- error) {
	defer close(l.proc.done)
	defer l.gate.close() // of a payload that was given up
	if err := closeOnExec(); err != nil {
		started <- fmt.Errorf("keep descriptors from the payload: %w", err)
		return
	}
	if g := l.s.sys.groups; g != nil {
		var err error
		if l.group, err = g.newLeaf(l.s.cfg); err != nil {
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

// spawn starts the child in its control group.
func (l *launch) spawn() error {
	err := l.group.born(l.cmd.Start)
	l.lost = errors.Is(err, errThreadLost)
	l.closeChild()
	return err
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
	closeFiles(l.limits)
	l.gate.close()
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
	if err := l.spawn(); err != nil {
		l.fail(started, fmt.Errorf("start bubblewrap: %w", err), nil)
		return
	}
	reports := json.NewDecoder(io.LimitReader(status, 64<<10))
	first, err := l.firstProcess(reports)
	if err != nil {
		l.fail(started, err, nil)
		return
	}
	defer first.close()
	if err := l.toGate(first.pid); err != nil {
		if first.gone() {
			err = errSetUp
		}
		l.fail(started, err, first)
		return
	}
	l.proc.kill = func() { l.killed.Store(true); first.kill() }
	l.proc.begin = l.begin
	started <- nil
	l.proc.end = l.endBwrap(first, reports)
}

// toGate puts the limits in force, lets bubblewrap make the sandbox, and waits until all is done but the payload itself.
func (l *launch) toGate(pid int) error {
	if err := l.limit(pid); err != nil {
		return err
	}
	if _, err := l.limits.Write([]byte{1}); err != nil {
		if errors.Is(err, syscall.EPIPE) {
			return errSetUp // nobody waits any more
		}
		return fmt.Errorf("let bubblewrap make the sandbox: %w", err)
	}
	l.limits.Close()
	return l.gate.reached()
}

// begin lets the payload go.
func (l *launch) begin() error {
	if err := l.group.pin(l.s.cpus); err != nil {
		return fmt.Errorf("pin the payload to CPUs %s: %w", l.s.cfg.CPUs, err)
	}
	l.proc.began = time.Now()
	return l.gate.open()
}

// prepareBwrap makes the command with its descriptors: 3 options, 4 status, 5 limits, 6 and 7 the gate's, 8… files of /etc and the filter.
func (l *launch) prepareBwrap(stdout, stderr *os.File) (status *os.File, err error) {
	const statusFD, limitsFD, gateFD, dataFD = 4, 5, 6, 8
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
	if err := l.prepareGates(); err != nil {
		status.Close()
		return nil, err
	}
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
	argv := []string{"bwrap", "--json-status-fd", strconv.Itoa(statusFD), "--block-fd", strconv.Itoa(limitsFD), "--args", "3", "--"}
	l.mark = l.s.newMark()
	l.command(l.s.sys.bwrap, append(argv, l.s.gated(l.c, gateFD)...), []string{string(l.mark)}, stdout, stderr)
	return status, nil
}

// prepareGates adds bubblewrap's gate and the payload's own to the child's descriptors.
func (l *launch) prepareGates() error {
	limitsR, limits, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("gate: %w", err)
	}
	l.limits = limits
	l.child = append(l.child, limitsR)
	child, err := l.gate.make()
	l.child = append(l.child, child...)
	return err
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
