//go:build !unix

package source

import "os/exec"

// ownGroup does nothing: a stop ends git itself, and its children find their
// pipes closed.
func ownGroup(*exec.Cmd) {}
