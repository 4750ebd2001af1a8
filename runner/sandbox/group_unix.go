//go:build unix && !linux

package sandbox

import (
	"os/exec"
	"syscall"
)

// ownGroup puts cmd into a process group of its own.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// killGroup ends the process group of cmd.
func killGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }

// status is the exit status of cmd, 128 + n for signal n, and the signal's name.
func status(cmd *exec.Cmd) (int, string) {
	ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if ok && ws.Signaled() {
		return 128 + int(ws.Signal()), ws.Signal().String()
	}
	return cmd.ProcessState.ExitCode(), ""
}
