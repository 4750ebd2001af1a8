//go:build !unix || solaris || illumos || aix

package queue

import (
	"fmt"
	"os"
)

// lockDir opens the lock file. There is no advisory lock here that the system
// drops with the process: servers are for Linux, and other systems only compare.
func lockDir(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the lock: %w", err)
	}
	return func() { f.Close() }, nil
}

// ownedByOther knows nothing of accounts here.
func ownedByOther(string) (uid uint32, other bool) { return 0, false }
