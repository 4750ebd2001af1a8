package sandbox

import "fmt"

// Free is how many bytes an ordinary user may still write to the disk of a folder.
func Free(dir string) (int64, error) {
	n, err := freeBytes(dir)
	if err != nil {
		return 0, fmt.Errorf("look at the disk of %s: %w", dir, err)
	}
	return n, nil
}
