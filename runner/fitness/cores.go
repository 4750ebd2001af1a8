package fitness

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// siblings looks for threads that share a core with a benchmark's CPU. A virtual
// machine sees the threads of its own CPUs alone, and not who shares their cores.
func (m Machine) siblings() Check {
	const name = "smt"
	active := m.text(cpuDir + "smt/active")
	told, most := 0, 0
	var shared, idle, extra []int
	for _, c := range m.bench() {
		list, ok := cpuList(m.text(fmt.Sprintf(cpuDir+"cpu%d/topology/thread_siblings_list", c)))
		if !ok || len(list) == 0 {
			continue
		}
		told++
		most = max(most, len(list))
		if len(list) > 1 {
			shared = append(shared, c)
			idle = append(idle, without(list, m.CPUs)...)
			if own := without(list, without(list, m.CPUs)); slices.Index(own, c) > 0 {
				extra = append(extra, c)
			}
		}
	}
	on := "cores are shared by threads (SMT is on)"
	if most > 1 {
		on = fmt.Sprintf("cores are shared by %d threads (SMT is on)", most)
	}
	switch {
	case active != "0" && len(shared) > 0 && len(m.CPUs) > 0:
		return Check{name, Warn, fmt.Sprintf("the benchmarks' %s: another thread shares the core (SMT is on)", cpuText(shared)), m.oneThread(idle, extra)}
	case active != "0" && len(shared) > 0 || told == 0 && active == "1":
		return Check{name, Warn, on, m.oneThread(nil, nil)}
	case active == "0" || told > 0:
		if m.virtual() {
			return Check{name, Unknown, "a virtual machine does not tell whether other threads share its cores", "ask who runs it for whole cores"}
		}
		if active == "0" {
			return Check{name, OK, "no core is shared by two threads", ""}
		}
		return Check{name, OK, "no benchmark's core is shared by two threads", ""}
	}
	return Check{name, Unknown, "the machine does not tell whether cores are shared by threads", ""}
}

// oneThread is how this machine leaves each core to one thread: smt/control takes
// "off" where it says "on" or a number of threads (ABI/testing/sysfs-devices-system-cpu),
// and is missing from older kernels. Else the other threads go: those that no
// benchmark has go offline, those that benchmarks have too are left out.
func (m Machine) oneThread(idle, extra []int) string {
	var ways []string
	control := m.text(cpuDir + "smt/control")
	if _, err := strconv.Atoi(control); control == "on" || err == nil {
		ways = append(ways, "echo off > /"+cpuDir+"smt/control")
	}
	slices.Sort(idle)
	idle = slices.Compact(idle)
	const offline = "take %s offline (echo 0 > /" + cpuDir + "cpuN/online)"
	var parts []string
	if len(idle) > 0 {
		parts = append(parts, fmt.Sprintf(offline, cpuText(idle)))
	}
	if len(extra) > 0 {
		parts = append(parts, fmt.Sprintf("leave %s out of sandbox.cpus", cpuText(extra)))
	}
	if len(parts) > 0 {
		ways = append(ways, strings.Join(parts, " and "))
	}
	if len(ways) == 0 {
		ways = append(ways, fmt.Sprintf(offline, "all but one thread of each core"))
	}
	return strings.Join(ways, ", or ")
}

// kinds looks for benchmarks' CPUs of different speeds, among which a process is
// as fast as where it happens to run: the kernel's own measure of each CPU, else
// the two lists of a hybrid processor, else how fast each one may become.
func (m Machine) kinds() Check {
	const name = "cores"
	cpus := m.bench()
	kinds := m.perCPU(cpus, "cpu_capacity")
	if kinds == nil {
		kinds = m.hybrid(cpus)
	}
	if kinds == nil {
		kinds = m.perCPU(cpus, "cpufreq/cpuinfo_max_freq")
	}
	switch {
	case kinds == nil:
		return Check{name, Unknown, "the machine does not tell whether its CPUs are equally fast", ""}
	case len(kinds) == 1:
		return Check{name, OK, "the benchmarks' CPUs are equally fast", ""}
	}
	groups := slices.SortedFunc(maps.Values(kinds), slices.Compare)
	parts := make([]string, len(groups))
	for i, g := range groups {
		parts[i] = cpuText(g)
	}
	return Check{name, Warn, "the benchmarks' CPUs are not equally fast: " + strings.Join(parts, " against "), "name CPUs of one kind in sandbox.cpus of runner.yaml"}
}

// perCPU sorts CPUs by what a file of each says; nil where one does not say it.
func (m Machine) perCPU(cpus []int, file string) map[string][]int {
	out := map[string][]int{}
	for _, c := range cpus {
		v := m.text(fmt.Sprintf(cpuDir+"cpu%d/%s", c, file))
		if _, err := strconv.ParseUint(v, 10, 64); err != nil {
			return nil
		}
		out[v] = append(out[v], c)
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// hybrid sorts CPUs by the two event sources of a processor with fast and with
// frugal cores (ABI/testing/sysfs-bus-event_source-devices, intel hybrid); nil where
// there are none, or one of the CPUs is of neither.
func (m Machine) hybrid(cpus []int) map[string][]int {
	out, found := map[string][]int{}, 0
	for _, kind := range []string{"cpu_core", "cpu_atom"} {
		of, ok := cpuList(m.text("sys/devices/" + kind + "/cpus"))
		if !ok {
			return nil
		}
		for _, c := range cpus {
			if slices.Contains(of, c) {
				out[kind] = append(out[kind], c)
				found++
			}
		}
	}
	if found != len(cpus) || found == 0 {
		return nil
	}
	return out
}
