//go:build unix

package runner

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// fileLock is a lock that this process has.
type fileLock struct{ f *os.File }

// Close gives the lock back. It does not leave that to the file's end: a child
// that is being started has the file too, for a moment.
func (l *fileLock) Close() error {
	return errors.Join(syscall.Flock(int(l.f.Fd()), syscall.LOCK_UN), l.f.Close())
}

// tryLock takes the lock that the file stands for, or gives nil where another
// process has it. The lock ends with the process at the latest; the file stays.
func tryLock(path string) (*fileLock, error) {
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
		return &fileLock{f}, nil
	}
	closeErr := f.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, closeErr
	}
	return nil, fmt.Errorf("lock %s: %w", path, errors.Join(err, closeErr))
}
