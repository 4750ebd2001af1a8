package benchfmt

import (
	"strconv"
	"strings"

	"github.com/prbench/prbench/internal/job"
)

// Normalise brings a value to its base unit: times to ns, sizes to B, rates to
// a second. What is counted per operation stays so (ms/op becomes ns/op, ops/ms
// becomes ops/s). Units that it does not know come back unchanged. The base of
// times is ns, not golang.org/x/perf's sec, since most tools print whole or
// nearly whole nanoseconds and the printed digits are kept that way.
func Normalise(v float64, unit string) (float64, string) {
	u, s := normalise(unit)
	return s.apply(v), u
}

var timeScale = map[string]scale{
	"ns": 0, "nsec": 0, "nanosecond": 0, "nanoseconds": 0,
	"us": 3, "µs": 3, "μs": 3, "usec": 3, "microsecond": 3, "microseconds": 3,
	"ms": 6, "msec": 6, "millisecond": 6, "milliseconds": 6,
	"s": 9, "sec": 9, "second": 9, "seconds": 9,
}

var sizeScale = map[string]scale{
	"B": 0, "byte": 0, "bytes": 0,
	"kB": 3, "KB": 3, "MB": 6, "GB": 9, "TB": 12,
}

// normalise gives the base unit and the power of ten that leads to it.
func normalise(unit string) (string, scale) {
	switch unit {
	case "", "ops/s", "ns/op", "B/op", "allocs/op", "ns":
		return unit, 0
	}
	num, den, ratio := strings.Cut(strings.TrimSpace(unit), "/")
	var by scale
	if s, ok := timeScale[num]; ok {
		num, by = "ns", s
	} else if s, ok := sizeScale[num]; ok {
		num, by = "B", s
	}
	if !ratio {
		return num, by
	}
	if s, ok := timeScale[den]; ok && num != "ns" {
		den = "s"
		by += 9 - s
	}
	return num + "/" + den, by
}

// Direction tells in which way a unit improves: what is counted for each second
// is better higher; times, sizes and counts are better lower, alone or for each
// operation. It is empty for a unit that does not tell.
func Direction(unit string) job.Better {
	u, _ := normalise(unit)
	if strings.HasSuffix(u, "/s") {
		return job.Higher
	}
	num, _, ratio := strings.Cut(u, "/")
	switch strings.ToLower(num) {
	case "ns", "b", "kib", "mib", "gib", "allocs", "alloc", "allocations", "instructions", "cycles",
		"branches", "branch-misses", "cache-misses", "page-faults", "faults", "syscalls":
		return job.Lower
	}
	if ratio && strings.HasSuffix(u, "/op") {
		return job.Lower
	}
	return ""
}

// isRate tells whether values of a unit are work for each time.
func isRate(unit string) bool { return strings.HasSuffix(unit, "/s") }

// unitLabel is how a unit is shown in the configuration column of our CSV, so
// that a reader which knows no units keeps two of them apart. Node's own unit
// has none, which makes our file of a Node suite the same as Node's.
func unitLabel(unit string) string {
	if unit == "" || unit == "ops/s" {
		return ""
	}
	return " [" + unit + "]"
}

// withoutLabel takes the unitLabel off a configuration.
func withoutLabel(config, unit string) string {
	label := unitLabel(unit)
	if label == "" {
		return config
	}
	if config == label[1:] {
		return ""
	}
	return strings.TrimSuffix(config, label)
}

// Show writes a value in a normalised unit as people read it, with the given
// significant digits: 1250 ns/op is "1.25 us/op", 2.5e6 B/s is "2.5 MB/s".
func Show(v float64, unit string, digits int) string {
	num, den, ratio := strings.Cut(unit, "/")
	steps := map[string][]string{
		"ns": {"ns", "us", "ms", "s"},
		"B":  {"B", "kB", "MB", "GB", "TB"},
	}[num]
	if steps == nil {
		return strings.TrimSpace(formatDigits(v, digits) + " " + unit)
	}
	i := 0
	for i+1 < len(steps) && (v >= 999.5 || v <= -999.5) {
		v /= 1000
		i++
	}
	text := formatDigits(v, digits) + " " + steps[i]
	if ratio {
		text += "/" + den
	}
	return text
}

func formatDigits(v float64, digits int) string {
	r, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', digits, 64), 64)
	if err != nil {
		r = v
	}
	if a := max(r, -r); a >= 1e15 || a < 1e-4 && a > 0 {
		return strconv.FormatFloat(r, 'g', -1, 64)
	}
	return strconv.FormatFloat(r, 'f', -1, 64)
}
