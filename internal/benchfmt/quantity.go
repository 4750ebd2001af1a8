package benchfmt

import (
	"strings"

	"github.com/prbench/prbench/internal/job"
)

// Quantity sorts units by what they measure.
type Quantity int

// The quantities. Rates improve upwards, all others downwards, unless a sample
// declares its direction.
const (
	OtherQuantity Quantity = iota
	TimeQuantity
	RateQuantity
	CountQuantity
)

// timeUnits are durations, with and without an operation that they are per.
var timeUnits = map[string]bool{"s": true, "sec": true, "secs": true, "second": true, "seconds": true, "ms": true, "msec": true,
	"us": true, "µs": true, "μs": true, "usec": true, "ns": true, "nsec": true, "min": true}

// countUnits are units in which a value without spread is exact.
var countUnits = map[string]bool{"allocs/op": true, "B/op": true, "instructions": true, "instructions/op": true,
	"allocs": true, "bytes": true, "B": true}

// QuantityOf sorts a unit. Node's unit-less rates count as rates.
func QuantityOf(unit string) Quantity {
	if countUnits[unit] {
		return CountQuantity
	}
	if unit == "" {
		return RateQuantity
	}
	above, below, per := strings.Cut(unit, "/")
	switch {
	case timeUnits[above]:
		return TimeQuantity
	case per && timeUnits[below]:
		return RateQuantity
	}
	return OtherQuantity
}

// BetterOf is the direction that a sample declares, else the one of its unit:
// rates improve upwards, everything else downwards.
func BetterOf(declared job.Better, unit string) job.Better {
	switch {
	case declared != "":
		return declared
	case QuantityOf(unit) == RateQuantity:
		return job.Higher
	}
	return job.Lower
}

// ExactUnits are the units, as samples carry them, in which values are compared
// exactly: the well-known counts and the declared ones.
func ExactUnits(declared []string) map[string]bool {
	exact := map[string]bool{}
	for u := range countUnits {
		exact[u] = true
	}
	for _, u := range declared {
		_, u = Normalise(0, u)
		exact[u] = true
	}
	return exact
}
