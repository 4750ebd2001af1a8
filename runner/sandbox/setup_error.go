package sandbox

import "fmt"

// Cause says what a machine lacks to run bubblewrap.
type Cause string

const (
	CauseMissing    Cause = "missing"    // bwrap is not installed
	CauseVersion    Cause = "version"    // bwrap is too old
	CauseNamespaces Cause = "namespaces" // the kernel's settings forbid user namespaces
	CauseAppArmor   Cause = "apparmor"   // AppArmor forbids them to bwrap
	CauseContainer  Cause = "container"  // a container's seccomp profile forbids them
	CauseProc       Cause = "proc"       // a container masks /proc, so that no new one can be mounted
	CauseUser       Cause = "user"       // no account to drop to
	CauseSystem     Cause = "system"     // not Linux
	CauseOther      Cause = "other"
)

// SetupError is a machine on which the sandbox cannot work, with what to install or set.
type SetupError struct {
	Cause   Cause
	Problem string // one sentence
	Fix     string // what to do, commands included
	Detail  string // what bubblewrap said, where it said something
}

func (e *SetupError) Error() string {
	s := e.Problem
	if e.Detail != "" {
		s += fmt.Sprintf(" (%s)", e.Detail)
	}
	if e.Fix != "" {
		s += "; " + e.Fix
	}
	return s
}
