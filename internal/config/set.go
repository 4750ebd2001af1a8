package config

import (
	"fmt"
	"regexp"
	"strings"
)

// Limits of the values of --set.
const (
	maxSets     = 32
	maxSetBytes = 256
)

var setKey = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]*$`)

// CheckSet says what is wrong with a k=v of --set. The key is a name, so that
// no value can pose as an option; the value is any text of one line.
func CheckSet(s string) error {
	key, value, found := strings.Cut(s, "=")
	switch {
	case !found:
		return fmt.Errorf("want key=value, got %s", quoted(s))
	case !setKey.MatchString(key):
		return fmt.Errorf("want a key of letters, digits, _ . and -, starting with a letter, got %s", quoted(key))
	case len(s) > maxSetBytes:
		return fmt.Errorf("want at most %d bytes, got %d", maxSetBytes, len(s))
	case hasControl(value):
		return fmt.Errorf("want a value without line breaks or control characters, got %s", quoted(value))
	}
	return nil
}
