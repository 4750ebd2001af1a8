//go:build !linux

package disk

import "errors"

// Free cannot be told: runners are for Linux.
func Free(string) (int64, error) { return 0, errors.ErrUnsupported }

// Sync does nothing: what has to outlast a power cut is kept by runners alone,
// which are for Linux.
func Sync(string) error { return nil }
