//go:build !unix

package runner

import "errors"

// fileLock is a lock that this process has.
type fileLock struct{}

func (*fileLock) Close() error { return nil }

// tryLock: runners are for Linux.
func tryLock(string) (*fileLock, error) {
	return nil, errors.New("a runner needs a system with file locks")
}
