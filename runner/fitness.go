package runner

import (
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// CheckState is how one property of the machine stands.
type CheckState string

// The states of a check. Unfit bars a verdict of safety; Unknown is what this
// machine does not tell.
const (
	FitOK      CheckState = "ok"
	FitWarn    CheckState = "warn"
	FitUnfit   CheckState = "unfit"
	FitUnknown CheckState = "unknown"
)

// Check is one property of the machine that matters for benchmarks.
type Check struct {
	Name  string
	State CheckState
	Text  string // one plain sentence
}

// Fitness looks at the machine as it is now.
func Fitness() []Check { return fitness(hostRoot, runtime.NumCPU()) }

func fitness(root string, cores int) []Check {
	return []Check{governor(root), turbo(root), siblings(root), load(root, cores), layout(root)}
}

// judge sorts checks into what bars a verdict and what is worth a word.
func judge(checks []Check) (unfit, warn []string) {
	for _, c := range checks {
		switch c.State {
		case FitUnfit:
			unfit = append(unfit, c.Text)
		case FitWarn:
			warn = append(warn, c.Text)
		}
	}
	return unfit, warn
}

func governor(root string) Check {
	c := Check{Name: "governor", State: FitUnknown, Text: "the machine does not tell how its frequency is governed"}
	files, err := filepath.Glob(filepath.Join(root, "sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor"))
	if err != nil || len(files) == 0 {
		return c
	}
	var other []string
	for _, f := range files {
		if g := strings.TrimSpace(hostFile("", f)); g != "performance" {
			other = append(other, g)
		}
	}
	if len(other) == 0 {
		return Check{c.Name, FitOK, "the frequency governor is performance"}
	}
	slices.Sort(other)
	return Check{c.Name, FitWarn, fmt.Sprintf("the frequency governor is %s, not performance", strings.Join(slices.Compact(other), ", "))}
}

func turbo(root string) Check {
	for _, k := range []struct{ file, off string }{{"intel_pstate/no_turbo", "1"}, {"cpufreq/boost", "0"}} {
		switch v := strings.TrimSpace(hostFile(root, "sys/devices/system/cpu/"+k.file)); v {
		case "":
		case k.off:
			return Check{"turbo", FitOK, "turbo is off"}
		default:
			return Check{"turbo", FitWarn, "turbo is on, so the frequency depends on the load and the temperature"}
		}
	}
	return Check{"turbo", FitUnknown, "the machine does not tell whether turbo is on"}
}

func siblings(root string) Check {
	switch strings.TrimSpace(hostFile(root, "sys/devices/system/cpu/smt/active")) {
	case "0":
		return Check{"smt", FitOK, "no core is shared by two threads"}
	case "1":
		return Check{"smt", FitWarn, "cores are shared by two threads (SMT is on)"}
	}
	return Check{"smt", FitUnknown, "the machine does not tell whether SMT is on"}
}

// load is what ran here in the last minute, per core.
func load(root string, cores int) Check {
	f := strings.Fields(hostFile(root, "proc/loadavg"))
	if len(f) == 0 {
		return Check{"load", FitUnknown, "the machine does not tell its load"}
	}
	v, err := strconv.ParseFloat(f[0], 64)
	if err != nil || cores < 1 {
		return Check{"load", FitUnknown, "the machine does not tell its load"}
	}
	// Of its own a runner keeps about one core busy.
	if v > float64(cores) {
		return Check{"load", FitWarn, fmt.Sprintf("the machine is busy: load %.1f on %d cores", v, cores)}
	}
	return Check{"load", FitOK, fmt.Sprintf("load %.1f on %d cores", v, cores)}
}

// layout wants address space randomisation left on: a fixed layout is one draw
// of a lottery that every run then repeats.
func layout(root string) Check {
	switch strings.TrimSpace(hostFile(root, "proc/sys/kernel/randomize_va_space")) {
	case "2", "1":
		return Check{"aslr", FitOK, "address space randomisation is on"}
	case "0":
		return Check{"aslr", FitUnfit, "address space randomisation is off, so every run has the same chance layout"}
	}
	return Check{"aslr", FitUnknown, "the machine does not tell whether address space randomisation is on"}
}

// reading is what the kernel has counted up to a moment.
type reading struct {
	total, steal uint64 // jiffies of all CPUs
	swapIn       uint64 // pages
	throttled    uint64 // thermal events
	known        bool
}

func takeReading(root string) reading {
	var r reading
	for line := range strings.Lines(hostFile(root, "proc/stat")) {
		f := strings.Fields(line)
		if len(f) < 9 || f[0] != "cpu" {
			continue
		}
		r.known = true
		// user nice system idle iowait irq softirq steal; guest time is in user.
		for i, v := range f[1:9] {
			n, err := strconv.ParseUint(v, 10, 64)
			if err != nil {
				return reading{}
			}
			r.total += n
			if i == 7 {
				r.steal = n
			}
		}
	}
	for line := range strings.Lines(hostFile(root, "proc/vmstat")) {
		if v, ok := strings.CutPrefix(line, "pswpin "); ok {
			r.swapIn, _ = strconv.ParseUint(strings.TrimSpace(v), 10, 64)
		}
	}
	files, err := filepath.Glob(filepath.Join(root, "sys/devices/system/cpu/cpu[0-9]*/thermal_throttle/core_throttle_count"))
	if err != nil {
		return r
	}
	for _, f := range files {
		n, err := strconv.ParseUint(strings.TrimSpace(hostFile("", f)), 10, 64)
		if err == nil {
			r.throttled += n
		}
	}
	return r
}

// Bounds of what may have happened while a job was measured.
const (
	stealWarn  = .01 // share of all CPU time that the hypervisor gave to others
	stealUnfit = .05
)

// since tells what happened between two readings.
func (r reading) since(after reading) []Check {
	var checks []Check
	if r.known && after.known && after.total > r.total {
		share := float64(after.steal-min(r.steal, after.steal)) / float64(after.total-r.total)
		c := Check{"steal", FitOK, fmt.Sprintf("other guests took %.1f %% of the CPU time", share*100)}
		switch {
		case share >= stealUnfit:
			c.State = FitUnfit
		case share >= stealWarn:
			c.State = FitWarn
		}
		checks = append(checks, c)
	}
	if n := after.throttled - min(r.throttled, after.throttled); n > 0 {
		checks = append(checks, Check{"throttling", FitUnfit, fmt.Sprintf("the CPU was throttled by heat %d times while it measured", n)})
	}
	if n := after.swapIn - min(r.swapIn, after.swapIn); n > 0 {
		checks = append(checks, Check{"swap", FitWarn, fmt.Sprintf("%d pages came back from swap while it measured", n)})
	}
	return checks
}
