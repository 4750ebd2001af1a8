package sandbox

import (
	"fmt"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

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
