package fitness

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Setup is in words what people set and what decides how fast and how evenly
// benchmarks run here: their CPUs, the clocks of these, and the cores that they
// share. It is for telling whether what was seen before still holds.
func (m Machine) Setup() string {
	cpus := "any CPU"
	if len(m.CPUs) > 0 {
		cpus = cpuText(m.CPUs)
	}
	return strings.Join([]string{"benchmarks on " + cpus, m.governor().Text, m.turbo().Text, m.siblings().Text}, "; ")
}

const cpuDir = "sys/devices/system/cpu/"

// governor reads scaling_governor (admin-guide/pm/cpufreq.rst). With intel_pstate
// and amd_pstate, powersave is a governor too, which follows the load.
func (m Machine) governor() Check {
	const name = "governor"
	var other []string
	var silent []int
	cpus := m.bench()
	for _, c := range cpus {
		switch g := m.text(fmt.Sprintf(cpuDir+"cpu%d/cpufreq/scaling_governor", c)); {
		case g == "":
			silent = append(silent, c)
		case g != "performance" && !slices.Contains(other, g):
			other = append(other, g)
		}
	}
	switch {
	case len(silent) == len(cpus):
		return Check{name, Unknown, "the machine does not tell how its frequency is governed", m.whoDecides()}
	case len(other) > 0:
		slices.Sort(other)
		return Check{name, Warn, fmt.Sprintf("the frequency governor is %s, not performance", strings.Join(other, " and ")), "cpupower frequency-set -g performance"}
	case len(silent) > 0:
		return Check{name, Unknown, fmt.Sprintf("the frequency governor is performance, but the benchmarks' %s do not tell theirs", cpuText(silent)), ""}
	}
	return Check{name, OK, "the frequency governor is performance", ""}
}

// turbo reads intel_pstate's no_turbo, else the boost of each CPU, which a person
// may have switched off for some, else that of all (admin-guide/pm/intel_pstate.rst,
// cpufreq.rst "The boost File").
func (m Machine) turbo() Check {
	const name, on = "turbo", "turbo is on, so the frequency depends on the load and the temperature"
	switch m.text(cpuDir + "intel_pstate/no_turbo") {
	case "1":
		return Check{name, OK, "turbo is off", ""}
	case "0":
		return Check{name, Warn, on, "echo 1 > /" + cpuDir + "intel_pstate/no_turbo"}
	}
	const ofAll = cpuDir + "cpufreq/boost"
	told, cpus := 0, m.bench()
	for _, c := range cpus {
		boost, advice := m.text(fmt.Sprintf(cpuDir+"cpu%d/cpufreq/boost", c)), "echo 0 to each /"+cpuDir+"cpu*/cpufreq/boost"
		if of := m.text(ofAll); of != "" {
			advice = "echo 0 > /" + ofAll
			if boost == "" {
				boost = of
			}
		}
		switch boost {
		case "0":
			told++
		case "1":
			return Check{name, Warn, on, advice}
		}
	}
	if told > 0 && told == len(cpus) {
		return Check{name, OK, "turbo is off", ""}
	}
	return Check{name, Unknown, "the machine does not tell whether turbo is on", m.whoDecides()}
}

// whoDecides is the advice where a machine tells nothing of its frequency.
func (m Machine) whoDecides() string {
	if m.virtual() {
		return "a virtual machine's host decides; ask who runs it"
	}
	return "look in its firmware's settings, and whether the kernel has a frequency driver for it"
}

// affinity tells whether benchmarks have CPUs of their own. The runner's are
// those of this process.
func (m Machine) affinity() Check {
	const name = "affinity"
	if len(m.CPUs) == 0 {
		return Check{name, Warn, "benchmarks run on any CPU, the runner's too", "name their CPUs in sandbox.cpus of runner.yaml"}
	}
	if online, told := cpuList(m.text(cpuDir + "online")); told && len(online) > 0 {
		if gone := without(m.CPUs, online); len(gone) > 0 {
			return Check{name, Warn, fmt.Sprintf("the benchmarks' %s: not there, or offline", cpuText(gone)), fmt.Sprintf("name others in sandbox.cpus of runner.yaml; here are %s", cpuText(online))}
		}
	}
	var own []int
	ok := false
	for line := range strings.Lines(m.text("proc/self/status")) {
		if v, found := strings.CutPrefix(line, "Cpus_allowed_list:"); found {
			own, ok = cpuList(v)
		}
	}
	if !ok || len(own) == 0 {
		return Check{name, Unknown, "the machine does not tell where the runner runs", ""}
	}
	if slices.ContainsFunc(own, func(c int) bool { return slices.Contains(m.CPUs, c) }) {
		return Check{name, Warn, fmt.Sprintf("the runner shares the benchmarks' %s", cpuText(m.CPUs)), "leave a CPU out of sandbox.cpus; `bot runner` moves there"}
	}
	return Check{name, OK, fmt.Sprintf("benchmarks have %s, the runner has others", cpuText(m.CPUs)), ""}
}

// isolation tells whether the kernel keeps other work off the benchmarks' CPUs:
// isolcpus (admin-guide/kernel-parameters) or an isolated partition of cpusets
// (admin-guide/cgroup-v2.rst), and whether the tick stops there (nohz_full,
// timers/no_hz.rst).
func (m Machine) isolation() Check {
	const name = "isolation"
	isolated, ok := cpuList(m.text(cpuDir + "isolated"))
	if parts, okParts := cpuList(m.text("sys/fs/cgroup/cpuset.cpus.isolated")); okParts {
		isolated = append(isolated, parts...)
	}
	if len(isolated) == 0 && len(m.CPUs) > 0 && len(m.glob(cpuDir+"isolated")) == 0 {
		ok = false // a kernel before 4.2 may isolate CPUs and not tell
	}
	if !ok || m.text(cpuDir+"online") == "" {
		return Check{name, Unknown, "the machine does not tell which CPUs are kept free", ""}
	}
	if len(m.CPUs) == 0 {
		return Check{name, Warn, "no CPU is kept free for benchmarks", "sandbox.cpus in runner.yaml, and the same list as isolcpus= on the kernel's command line"}
	}
	if open := without(m.CPUs, isolated); len(open) > 0 {
		return Check{name, Warn, fmt.Sprintf("other work may run on the benchmarks' %s", cpuText(open)), "isolcpus= and nohz_full= with these CPUs on the kernel's command line"}
	}
	// The file says "(null)", or in some kernels nothing, where the kernel has the feature and no CPU is named.
	quiet, _ := cpuList(m.text(cpuDir + "nohz_full"))
	if len(without(m.CPUs, quiet)) > 0 {
		return Check{name, OK, "the benchmarks' CPUs are kept free of other work, but for the timer's tick", ""}
	}
	return Check{name, OK, "the benchmarks' CPUs are kept free of other work and of the timer's tick", ""}
}

// layout wants address space randomisation left on: a fixed layout is one draw
// of a lottery that every run then repeats (admin-guide/sysctl/kernel.rst).
func (m Machine) layout() Check {
	const name = "aslr"
	switch m.text("proc/sys/kernel/randomize_va_space") {
	case "2":
		return Check{name, OK, "address space randomisation is on", ""}
	case "1":
		return Check{name, OK, "address space randomisation is on, but for the heap", ""}
	case "0":
		return Check{name, Unfit, "address space randomisation is off, so every run has the same chance layout", "sysctl kernel.randomize_va_space=2"}
	}
	return Check{name, Unknown, "the machine does not tell whether address space randomisation is on", ""}
}

// slowClocks are clock sources that take a system call or a slow device to read
// (timers/timekeeping.rst; the x86 ones are HPET, the ACPI timer, the PIT, ticks).
var slowClocks = []string{"hpet", "acpi_pm", "pit", "jiffies", "refined-jiffies"}

func (m Machine) clock() Check {
	const name = "clocksource"
	const dir = "sys/devices/system/clocksource/clocksource0/"
	c := m.text(dir + "current_clocksource")
	switch {
	case c == "":
		return Check{name, Unknown, "the machine does not tell what its clock is", ""}
	case slices.Contains(slowClocks, c):
		advice := "dmesg says why the processor's own counter is not used"
		if slices.Contains(strings.Fields(m.text(dir+"available_clocksource")), "tsc") {
			advice = "echo tsc > /" + dir + "current_clocksource"
		}
		return Check{name, Warn, "the clock is " + strconv.Quote(c) + ", which is slow to read", advice}
	}
	return Check{name, OK, "the clock is " + strconv.Quote(c), ""}
}
