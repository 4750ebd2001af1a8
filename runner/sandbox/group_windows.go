package sandbox

import "os/exec"

// ownGroup does nothing: there are no process groups here.
func ownGroup(*exec.Cmd) {}

// killGroup ends the process of cmd.
func killGroup(cmd *exec.Cmd) { _ = cmd.Process.Kill() }

// status is the exit status of cmd.
func status(cmd *exec.Cmd) (int, string) { return cmd.ProcessState.ExitCode(), "" }
