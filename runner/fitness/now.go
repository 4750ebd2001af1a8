package fitness

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// load is what ran or waited for the disk here in the last minute
// (filesystems/proc.rst).
func (m Machine) load() Check {
	const name = "load"
	unknown := Check{name, Unknown, "the machine does not tell its load", ""}
	words := strings.Fields(m.text("proc/loadavg"))
	cpus, ok := cpuList(m.text(cpuDir + "online"))
	if len(words) == 0 || !ok || len(cpus) == 0 {
		return unknown
	}
	v, err := strconv.ParseFloat(words[0], 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return unknown
	}
	text := fmt.Sprintf("load %.1f on %d CPUs", v, len(cpus))
	if v > float64(len(cpus)) {
		return Check{name, Warn, "the machine is busy: " + text, "stop what else runs here (top shows it)"}
	}
	return Check{name, OK, text, ""}
}

// resources are those whose shortage the kernel counts (accounting/psi.rst), and
// from which share of the time on something waiting for them is worth a word.
// The benchmarks' own waiting counts too: threads that are more than the CPUs
// wait for a CPU all the time.
var resources = [...]struct {
	file, word  string
	warn, unfit float64
}{
	{"proc/pressure/cpu", "a CPU", .25, math.Inf(1)},
	{"proc/pressure/memory", "memory", .02, .20},
	{"proc/pressure/io", "the disk", .10, math.Inf(1)},
}

// pressured is the line "some" of a file of pressure.
func (m Machine) pressured(file string) []string {
	for line := range strings.Lines(m.text(file)) {
		if words := strings.Fields(line); len(words) > 0 && words[0] == "some" {
			return words
		}
	}
	return nil
}

// pressure is how much was short in the last ten seconds.
func (m Machine) pressure() Check {
	c := Check{"pressure", Unknown, "the machine does not tell what is short (PSI)", "psi=1 on the kernel's command line"}
	var parts []string
	state := OK
	for _, r := range resources {
		share := field(m.pressured(r.file), "avg10") / 100
		if math.IsNaN(share) {
			continue
		}
		parts = append(parts, fmt.Sprintf("%s %.0f %%", r.word, share*100))
		if share >= r.warn {
			state = Warn
		}
	}
	if len(parts) == 0 {
		return c
	}
	c.State, c.Advice = state, ""
	c.Text = "of the last ten seconds something waited for " + strings.Join(parts, ", ")
	if state == Warn {
		c.Advice = "stop what else runs here (top shows it)"
	}
	return c
}

// swap tells whether memory may be written out.
func (m Machine) swap() Check {
	const name = "swap"
	var total, free int64 = -1, -1
	for line := range strings.Lines(m.text("proc/meminfo")) {
		words := strings.Fields(line)
		if len(words) < 2 {
			continue
		}
		n, err := strconv.ParseInt(words[1], 10, 64)
		switch {
		case err != nil:
		case words[0] == "SwapTotal:":
			total = n
		case words[0] == "SwapFree:":
			free = n
		}
	}
	switch {
	case total < 0 || free < 0:
		return Check{name, Unknown, "the machine does not tell whether it swaps", ""}
	case total == 0:
		return Check{name, OK, "there is no swap", ""}
	case free >= total:
		return Check{name, OK, "swap is there and empty", ""}
	}
	return Check{name, Warn, fmt.Sprintf("%d MiB are swapped out", (total-free)>>10), "swapoff -a, and memory enough"}
}

// nearLimit is how close to its limit a temperature is worth a word, in
// thousandths of a degree.
const nearLimit = 5000

// heat compares the CPUs' temperatures with where they are slowed down, and looks
// for cooling that slows them now.
func (m Machine) heat() Check {
	const name = "thermal"
	const advice = "mend the cooling, or lower the highest frequency"
	if d := m.slowedNow(); d != "" {
		return Check{name, Unfit, "the CPUs are slowed down for their temperature now (" + d + ")", advice}
	}
	all := append(m.zones(), m.sensors()...)
	if len(all) == 0 {
		return Check{name, Unknown, "the machine does not tell its temperature", ""}
	}
	near := slices.MinFunc(all, func(a, b temperature) int { return cmp.Compare(a.limit-a.now, b.limit-b.now) })
	if near.limit-near.now <= nearLimit {
		return Check{name, Warn, fmt.Sprintf("a CPU has %d °C, and its limit is %d °C", near.now/1000, near.limit/1000), advice}
	}
	return Check{name, OK, fmt.Sprintf("the CPUs have %d °C, and their limit is %d °C", near.now/1000, near.limit/1000), ""}
}

// slowedNow names a cooling device that throttles CPUs at this moment.
func (m Machine) slowedNow() string {
	for _, f := range m.glob("sys/class/thermal/cooling_device*/type") {
		kind := m.text(f)
		if kind != "Processor" && !strings.Contains(kind, "cpufreq") {
			continue
		}
		if n, ok := m.number(strings.TrimSuffix(f, "type") + "cur_state"); ok && n > 0 {
			return fmt.Sprintf("%s at step %d", strconv.Quote(kind), n)
		}
	}
	return ""
}

// temperature is in thousandths of a degree Celsius.
type temperature struct{ now, limit int64 }

// zones are those thermal zones that are a CPU's, with their lowest trip
// (driver-api/thermal/sysfs-api.rst).
func (m Machine) zones() []temperature {
	var out []temperature
	for _, f := range m.glob("sys/class/thermal/thermal_zone*/type") {
		kind, dir := strings.ToLower(m.text(f)), strings.TrimSuffix(f, "type")
		if !slices.ContainsFunc([]string{"cpu", "x86_pkg", "soc", "bcm2835"}, func(s string) bool { return strings.Contains(kind, s) }) {
			continue
		}
		now, ok := m.number(dir + "temp")
		limit := int64(math.MaxInt64)
		for _, trip := range m.glob(dir + "trip_point_*_type") {
			if !slices.Contains([]string{"passive", "hot", "critical"}, m.text(trip)) {
				continue
			}
			if n, ok := m.number(strings.TrimSuffix(trip, "type") + "temp"); ok && n > 0 {
				limit = min(limit, n)
			}
		}
		if ok && limit < math.MaxInt64 {
			out = append(out, temperature{now, limit})
		}
	}
	return out
}

// sensors are those of the processors' own drivers. Where they are slowed down is
// crit; max, which both drivers may have below it, is where fans should turn
// (hwmon/coretemp.rst, hwmon/k10temp.rst, hwmon/sysfs-interface.rst).
func (m Machine) sensors() []temperature {
	var out []temperature
	for _, f := range m.glob("sys/class/hwmon/hwmon*/name") {
		if !slices.Contains([]string{"coretemp", "k10temp", "zenpower"}, m.text(f)) {
			continue
		}
		for _, in := range m.glob(strings.TrimSuffix(f, "name") + "temp*_input") {
			now, ok := m.number(in)
			for _, limit := range []string{"crit", "max"} {
				if n, okLimit := m.number(strings.TrimSuffix(in, "input") + limit); ok && okLimit && n > 0 {
					out = append(out, temperature{now, n})
					break
				}
			}
		}
	}
	return out
}
