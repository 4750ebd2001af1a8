//go:build unix

package runner

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// tryLock takes the lock that the file stands for, or gives nil where another
// process has it. The lock ends with the process at the latest; the file stays.
func tryLock(path string) (*os.File, error) {
	// Opened for reading first: a root runner may not create into a sticky folder
	// what another user's runner has made there.
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		f, err = os.OpenFile(path, os.O_RDONLY|os.O_CREATE, 0o644)
	}
	if err != nil {
		return nil, fmt.Errorf("open the lock: %w", err)
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		return f, nil
	}
	closeErr := f.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, closeErr
	}
	return nil, fmt.Errorf("lock %s: %w", path, errors.Join(err, closeErr))
}
