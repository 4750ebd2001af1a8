package report

import (
	"strings"

	"github.com/prbench/prbench/internal/job"
)

// nodeUnit is the unit of Node's own benchmarks.
const nodeUnit = "ops/s"

// quantity sorts units by what they measure.
type quantity int

const (
	kindOther quantity = iota
	kindTime
	kindRate
	kindCount
)

// timeUnits are durations, with and without an operation that they are per.
var timeUnits = map[string]bool{"s": true, "sec": true, "secs": true, "second": true, "seconds": true, "ms": true, "msec": true,
	"us": true, "µs": true, "μs": true, "usec": true, "ns": true, "nsec": true, "min": true}

// wellKnownCounts are units in which a value without spread is exact.
var wellKnownCounts = map[string]bool{"allocs/op": true, "B/op": true, "instructions": true, "instructions/op": true,
	"allocs": true, "bytes": true, "B": true}

// unitKind sorts a unit. Node's unit-less rates count as rates.
func unitKind(unit string) quantity {
	if wellKnownCounts[unit] {
		return kindCount
	}
	if unit == "" {
		return kindRate
	}
	above, below, per := strings.Cut(unit, "/")
	switch {
	case timeUnits[above]:
		return kindTime
	case per && timeUnits[below]:
		return kindRate
	}
	return kindOther
}

// betterOf is the direction that a sample declares, else the one of its unit:
// rates improve upwards, everything else downwards.
func betterOf(declared job.Better, unit string) job.Better {
	switch {
	case declared != "":
		return declared
	case unitKind(unit) == kindRate:
		return job.Higher
	}
	return job.Lower
}
