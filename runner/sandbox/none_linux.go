package sandbox

import (
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// bareGate waits for a line on descriptor 3 and then becomes its arguments.
const bareGate = `read -r _ <&3 || exit 126; exec 3<&-; exec "$@"`

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
	if err := l.limit(pid); err != nil {
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
	l.proc.began = time.Now()
	if _, err := l.gate.Write([]byte("\n")); err != nil {
		l.fail(started, fmt.Errorf("let the payload go: %w", err), nil)
		return
	}
	l.gate.Close()
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
	gateR, gate, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("gate: %w", err)
	}
	l.gate = gate
	l.child = append(l.child, gateR)
	mark = l.s.newMark()
	vars := append(env(l.c, os.Getenv("PATH"), home), "TMPDIR="+home, string(mark))
	l.command("/bin/sh", append(append([]string{"sh", "-c", bareGate, "sh"}, l.s.sys.limiter...), l.c.Argv...), vars, stdout, stderr)
	l.cmd.Dir = bareDir(l.c, home)
	if err := l.s.pinned(l.cmd.Start); err != nil {
		return nil, fmt.Errorf("start the payload: %w", err)
	}
	l.closeChild()
	return mark, nil
}
