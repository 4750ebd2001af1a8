package fitness

import (
	"io"
	"io/fs"
	"math"
	"slices"
	"strconv"
	"strings"
)

// maxFile bounds what is read of one file; /proc/stat of a very large machine is
// some hundred KiB.
const maxFile = 4 << 20

// text is what a file of the kernel holds, without space around it; empty where
// it cannot be read, which a container may see to.
func (m Machine) text(name string) string {
	f, err := m.Root.Open(name)
	if err != nil {
		return ""
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}

func (m Machine) number(name string) (int64, bool) {
	n, err := strconv.ParseInt(m.text(name), 10, 64)
	return n, err == nil
}

// glob gives the files that match, in order.
func (m Machine) glob(pattern string) []string {
	names, err := fs.Glob(m.Root, pattern)
	if err != nil {
		panic(err) // the pattern is ours
	}
	return names
}

const maxCPUs = 1 << 16

// cpuList reads the kernel's notation of CPUs ("0-3,8", or nothing). What is no
// such list gives false.
func cpuList(s string) ([]int, bool) {
	var out []int
	for part := range strings.SplitSeq(s, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		lo, hi, isRange := strings.Cut(part, "-")
		if !isRange {
			hi = lo
		}
		a, err1 := strconv.Atoi(lo)
		b, err2 := strconv.Atoi(hi)
		if err1 != nil || err2 != nil || a < 0 || b < a || b >= maxCPUs {
			return nil, false
		}
		for c := a; c <= b; c++ {
			out = append(out, c)
		}
	}
	slices.Sort(out)
	return slices.Compact(out), true
}

// cpuText is cpuList's opposite, short enough to be read.
func cpuText(cpus []int) string {
	var parts []string
	for i := 0; i < len(cpus); {
		j := i
		for j+1 < len(cpus) && cpus[j+1] == cpus[j]+1 {
			j++
		}
		part := strconv.Itoa(cpus[i])
		if j > i {
			part += "-" + strconv.Itoa(cpus[j])
		}
		parts = append(parts, part)
		i = j + 1
	}
	if len(parts) == 1 && len(cpus) == 1 {
		return "CPU " + parts[0]
	}
	return "CPUs " + strings.Join(parts, ",")
}

// bench are the CPUs that benchmarks run on; none where that is not known.
func (m Machine) bench() []int {
	if len(m.CPUs) > 0 {
		return m.CPUs
	}
	cpus, ok := cpuList(m.text("sys/devices/system/cpu/online"))
	if !ok {
		return nil
	}
	return cpus
}

// without are those CPUs that are not among the others.
func without(cpus, others []int) []int {
	var out []int
	for _, c := range cpus {
		if !slices.Contains(others, c) {
			out = append(out, c)
		}
	}
	return out
}

// virtual tells whether a hypervisor is known to stand between this kernel and its
// CPUs: x86 has a flag for it, Xen a file, a POWER machine names its platform, and
// on an IBM mainframe there always is one. Other machines may be virtual unseen.
func (m Machine) virtual() bool {
	if m.text("sys/hypervisor/type") != "" {
		return true
	}
	for line := range strings.Lines(m.text("proc/cpuinfo")) {
		key, value, _ := strings.Cut(line, ":")
		switch strings.TrimSpace(key) {
		case "flags":
			return slices.Contains(strings.Fields(value), "hypervisor")
		case "vendor_id":
			if strings.TrimSpace(value) == "IBM/S390" {
				return true
			}
		case "platform":
			return strings.TrimSpace(value) == "pSeries"
		}
	}
	return false
}

// field finds "name=value" or the value after "name" among words; NaN where it
// is not.
func field(words []string, name string) float64 {
	for _, w := range words {
		if v, ok := strings.CutPrefix(w, name+"="); ok {
			if f, err := strconv.ParseFloat(v, 64); err == nil {
				return f
			}
		}
	}
	return math.NaN()
}
