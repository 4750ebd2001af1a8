//go:build unix && !solaris && !illumos && !aix

package queue

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// lockDir takes the lock that makes this process the only one with the store
// open. The kernel lets go of it when the process dies, however it dies.
func lockDir(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the lock: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, ErrInUse
		}
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return func() {
		// Closing alone leaves the lock with a child that is just being started,
		// until it has closed what it inherited.
		_ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN)
		f.Close()
	}, nil
}

// ownedByOther tells whether this process is root and the file another account's,
// which could not read what root writes beside it. A file that is not there is
// nobody's.
func ownedByOther(path string) (uid uint32, other bool) {
	info, err := os.Stat(path)
	if err != nil || os.Geteuid() != 0 {
		return 0, false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return st.Uid, ok && st.Uid != 0
}
