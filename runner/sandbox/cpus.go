package sandbox

import (
	"fmt"
	"sort"
	"strconv"
	"strings"
)

const maxCPU = 1023 // of the kernel's cpu_set_t

// parseCPUs reads a list such as "0-2,5" into sorted numbers, each once; empty is no list.
func parseCPUs(list string) ([]int, error) {
	if list == "" {
		return nil, nil
	}
	seen := map[int]bool{}
	for _, part := range strings.Split(list, ",") {
		lo, hi, isRange := strings.Cut(strings.TrimSpace(part), "-")
		if !isRange {
			hi = lo
		}
		a, err1 := strconv.Atoi(lo)
		b, err2 := strconv.Atoi(hi)
		if err1 != nil || err2 != nil || a < 0 || b < a || b > maxCPU {
			return nil, fmt.Errorf("%q in %q: expected numbers and ranges up to %d, such as 1 or 2-3,6", part, list, maxCPU)
		}
		for c := a; c <= b; c++ {
			seen[c] = true
		}
	}
	out := make([]int, 0, len(seen))
	for c := range seen {
		out = append(out, c)
	}
	sort.Ints(out)
	return out, nil
}

// formatCPUs is the list in the kernel's notation.
func formatCPUs(cpus []int) string {
	s := make([]string, len(cpus))
	for i, c := range cpus {
		s[i] = strconv.Itoa(c)
	}
	return strings.Join(s, ",")
}
