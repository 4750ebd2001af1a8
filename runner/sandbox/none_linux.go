package sandbox

import (
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// liveBare runs the payload without isolation.
func (l *launch) liveBare(stdout, stderr *os.File, started chan<- error) {
	home, err := os.MkdirTemp("", "prbench-run-")
	if err != nil {
		l.fail(started, fmt.Errorf("make temporary directory: %w", err), nil)
		return
	}
	defer removeAll(home)
	if err := l.s.acct.chown(home); err != nil {
		l.fail(started, fmt.Errorf("make temporary directory: %w", err), nil)
		return
	}
	mark, err := l.startBare(home, stdout, stderr)
	if err != nil {
		l.fail(started, err, nil)
		return
	}
	pid := l.cmd.Process.Pid
	err = l.limit(pid)
	if err == nil {
		err = l.gate.reached()
	}
	if err != nil {
		l.fail(started, err, nil)
		return
	}
	var gone sync.Mutex
	alive := true
	l.proc.kill = func() {
		gone.Lock()
		defer gone.Unlock()
		if l.killed.Store(true); alive {
			unix.Kill(-pid, unix.SIGKILL)
		}
	}
	l.proc.begin = l.begin
	started <- nil

	floor := maxRSS(unix.RUSAGE_SELF)
	for unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
	e := ending{at: time.Now()}
	// Until it is reaped, no other process can have its number, nor its session.
	gone.Lock()
	alive = false
	gone.Unlock()
	e.err = killRun(pid, mark)
	l.cmd.Wait()
	if ru, ok := l.cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		e.usage = usageOf(ru, floor)
	}
	ws, _ := l.cmd.ProcessState.Sys().(syscall.WaitStatus)
	e.setStatus(ws)
	l.finish(&e)
	l.proc.end = e
}

func (l *launch) startBare(home string, stdout, stderr *os.File) (mark []byte, err error) {
	if l.child, err = l.gate.make(); err != nil {
		return nil, err
	}
	mark = l.s.newMark()
	const gateFD = 3
	argv := l.s.gated(l.c, gateFD)
	l.command(argv[0], argv, append(env(os.Getenv("PATH"), home), "TMPDIR="+home, string(mark)), stdout, stderr)
	l.cmd.Dir = bareDir(l.c, home)
	if err := l.spawn(); err != nil {
		return nil, fmt.Errorf("start the payload: %w", err)
	}
	return mark, nil
}
