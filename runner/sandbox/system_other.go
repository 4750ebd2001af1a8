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

// Ahead tells whether a sandbox can be made while another payload is measured: there is nothing to be made here.
func (s *Sandbox) Ahead() bool { return false }

// start prepares c, without isolation; begin of the process starts it. The process has the writing ends of the pipes.
func (s *Sandbox) start(c Command, out *pipes) (*process, error) {
	home, err := os.MkdirTemp("", "prbench-run-")
	if err != nil {
		return nil, fmt.Errorf("make temporary directory: %w", err)
	}
	cmd := exec.Command(c.Argv[0], c.Argv[1:]...)
	cmd.Env = append(env(os.Getenv("PATH"), home), "TMPDIR="+home, "TEMP="+home, "TMP="+home, "SystemRoot="+os.Getenv("SystemRoot"))
	cmd.Env = append(cmd.Env, c.Env...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = bareDir(c, home), out.outW, out.errW
	ownGroup(cmd)
	p := &process{done: make(chan struct{})}
	var mu sync.Mutex
	begun, over := false, false
	p.begin = func() error {
		mu.Lock()
		defer mu.Unlock()
		p.began = time.Now()
		if err := cmd.Start(); err != nil {
			return fmt.Errorf("start the payload: %w", err)
		}
		begun = true
		out.closeWriters()
		go func() {
			defer close(p.done)
			cmd.Wait()
			p.end.at = time.Now()
			p.end.exit, p.end.signal = status(cmd)
			p.end.usage = Usage{User: cmd.ProcessState.UserTime(), System: cmd.ProcessState.SystemTime()}
			p.kill()
			mu.Lock()
			over = true
			mu.Unlock()
			removeAll(home)
		}()
		return nil
	}
	p.kill = func() {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case over:
		case begun:
			killGroup(cmd)
		default: // it never will
			over = true
			out.closeWriters()
			removeAll(home)
			close(p.done)
		}
	}
	return p, nil
}

// EndLeftovers does nothing here: it is for what bubblewrap leaves.
func (s *Sandbox) EndLeftovers() error { return nil }
