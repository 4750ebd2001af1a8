//go:build !linux

package runner

import "errors"

// ErrNoCPULeft is a list of CPUs that leaves none for the runner itself.
var ErrNoCPULeft = errors.New("no CPU is left for the runner itself")

// KeepOff does nothing: runners are for Linux.
func KeepOff([]int) error { return nil }
