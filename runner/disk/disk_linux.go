package disk

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Free is how many bytes an ordinary user may still write to the disk of dir.
func Free(dir string) (int64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, fmt.Errorf("ask how full a disk is: %w", err)
	}
	return int64(st.Bavail) * int64(st.Bsize), nil
}

// Sync returns when everything that was written to the disk of dir, names
// included, would outlast a power cut.
func Sync(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("write what is in memory to the disk: %w", err)
	}
	if err := errors.Join(unix.Syncfs(int(f.Fd())), f.Close()); err != nil {
		return fmt.Errorf("write what is in memory to the disk: %w", err)
	}
	return nil
}
