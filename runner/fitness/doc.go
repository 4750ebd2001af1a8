// Package fitness judges how well a machine can measure: how its clocks are
// governed, who else uses its CPUs, and what happened while it measured.
//
// Everything is read from the kernel's files, whose places and forms are those
// of the kernel's Documentation (admin-guide/pm, admin-guide/cpu-isolation,
// accounting/psi, filesystems/proc, ABI/testing/sysfs-devices-system-cpu,
// driver-api/thermal/sysfs-api). What a machine does not tell, such as a virtual
// one or a container, is unknown, never well.
package fitness

import (
	"io/fs"
	"os"
	"slices"
)

// State is how one property of the machine stands.
type State string

// The states of a check. Unfit bars a verdict of safety; Unknown is what this
// machine does not tell.
const (
	OK      State = "ok"
	Warn    State = "warn"
	Unfit   State = "unfit"
	Unknown State = "unknown"
)

// Check is one property of the machine that matters for benchmarks.
type Check struct {
	Name  string
	State State
	Text  string // one plain sentence
	// Advice says how to mend it; empty where it is well, or nothing can be done.
	Advice string
}

// Machine is what is judged.
type Machine struct {
	// Root holds the kernel's files, proc and sys among them.
	Root fs.FS
	// CPUs are those that benchmarks are pinned to; none: they run on all.
	CPUs []int
}

// Here is this machine. cpus are those that benchmarks are pinned to.
func Here(cpus []int) Machine { return Machine{os.DirFS("/"), cpus} }

// Look judges the machine as it is now.
func (m Machine) Look() []Check { return append(m.settings(), m.now()...) }

// settings are what a person sets, and what should not change while a job is
// measured.
func (m Machine) settings() []Check {
	return []Check{m.governor(), m.turbo(), m.siblings(), m.kinds(), m.affinity(), m.isolation(), m.layout(), m.clock()}
}

// now is what changes by itself.
func (m Machine) now() []Check {
	return []Check{m.load(), m.pressure(), m.swap(), m.heat()}
}

// Judge sorts checks into what bars a verdict of safety and what is worth a word
// in the report, each with its advice.
func Judge(checks []Check) (unfit, warn []string) {
	add := func(list []string, c Check) []string {
		text := c.Text
		if c.Advice != "" {
			text += "; to mend it: " + c.Advice
		}
		if slices.Contains(list, text) {
			return list
		}
		return append(list, text)
	}
	for _, c := range checks {
		switch c.State {
		case Unfit:
			unfit = add(unfit, c)
		case Warn:
			warn = add(warn, c)
		}
	}
	return unfit, warn
}
