// Package disk asks the system about the disk that a folder lies on.
package disk

import "errors"

// ErrLow is why work is tried again, once there is more room.
var ErrLow = errors.New("the disk of this machine is nearly full")

// Low tells whether less than keep bytes are left for us on the disk of dir, or
// nothing at all. Where that cannot be read it tells of no lack.
func Low(dir string, keep int64) bool {
	free, err := Free(dir)
	return err == nil && (free < keep || free == 0)
}
