//go:build unix

package source

import (
	"os/exec"
	"syscall"
)

// ownGroup has a stop reach all of git's children: a transport, index-pack.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
