//go:build !unix

package runner

import (
	"errors"
	"os"
)

// tryLock: runners are for Linux.
func tryLock(string) (*os.File, error) {
	return nil, errors.New("a runner needs a system with file locks")
}
