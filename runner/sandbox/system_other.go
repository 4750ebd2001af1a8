//go:build !linux

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"time"
)

// system is what New found out about this machine.
type system struct{}

func (s *Sandbox) setup(context.Context) error {
	if s.cfg.Kind == Bubblewrap {
		return &SetupError{Cause: CauseSystem, Problem: "bubblewrap is for Linux", Fix: "use --sandbox none for code that you trust"}
	}
	for _, set := range []bool{s.cfg.Memory > 0, s.cfg.Pids > 0, len(s.cpus) > 0, s.cfg.FileSize > 0} {
		if set {
			s.facts.Notes = append(s.facts.Notes, "limits on memory, processes, CPUs and file size are for Linux and not enforced here")
			break
		}
	}
	return nil
}

// start starts c without isolation.
func (s *Sandbox) start(c Command, stdout, stderr *os.File) (*process, error) {
	home, err := os.MkdirTemp("", "prbench-run-")
	if err != nil {
		return nil, fmt.Errorf("make temporary directory: %w", err)
	}
	path := os.Getenv("PATH")
	cmd := exec.Command(c.Argv[0], c.Argv[1:]...)
	cmd.Env = append(env(c, path, home), "TMPDIR="+home, "TEMP="+home, "TMP="+home, "SystemRoot="+os.Getenv("SystemRoot"))
	cmd.Dir, cmd.Stdout, cmd.Stderr = bareDir(c, home), stdout, stderr
	ownGroup(cmd)
	p := &process{done: make(chan struct{}), began: time.Now()}
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start the payload: %w", err), removeAll(home))
	}
	var gone sync.Mutex
	alive := true
	p.kill = func() {
		gone.Lock()
		defer gone.Unlock()
		if alive {
			killGroup(cmd)
		}
	}
	go func() {
		defer close(p.done)
		cmd.Wait()
		p.end.at = time.Now()
		p.end.exit, p.end.signal = status(cmd)
		p.end.usage = Usage{User: cmd.ProcessState.UserTime(), System: cmd.ProcessState.SystemTime()}
		p.kill()
		gone.Lock()
		alive = false
		gone.Unlock()
		removeAll(home)
	}()
	return p, nil
}

func freeBytes(string) (int64, error) { return 0, errors.ErrUnsupported }

// EndLeftovers does nothing here: it is for what bubblewrap leaves.
func (s *Sandbox) EndLeftovers() error { return nil }
