package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// sizeUnits are in the order in which FormatSize tries them.
var sizeUnits = []struct {
	name  string
	bytes int64
}{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"B", 1}}

// ParseSize reads a whole number of bytes with a unit: B, KiB, MiB, GiB, TiB.
func ParseSize(s string) (int64, error) {
	for _, u := range sizeUnits {
		digits, ok := strings.CutSuffix(s, u.name)
		if !ok {
			continue
		}
		v, err := strconv.ParseUint(strings.TrimSpace(digits), 10, 63)
		if err != nil || v > uint64(math.MaxInt64/u.bytes) {
			break
		}
		return int64(v) * u.bytes, nil
	}
	return 0, fmt.Errorf("want a size such as 512MiB or 8GiB, got %s", quoted(s))
}

// FormatSize writes a number of bytes with the largest unit that divides it.
func FormatSize(n int64) string {
	for _, u := range sizeUnits {
		if n >= u.bytes && n%u.bytes == 0 {
			return fmt.Sprintf("%d%s", n/u.bytes, u.name)
		}
	}
	return fmt.Sprintf("%dB", n)
}
