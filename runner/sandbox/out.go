package sandbox

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"syscall"
)

// ErrTooLarge is a file of a payload that is over the size allowed.
var ErrTooLarge = errors.New("file is too large")

// ErrNotRegular is a file of a payload that is a link, a directory, a FIFO or a device.
var ErrNotRegular = errors.New("not a regular file")

// Out is a fresh directory of the host for what tools write to files. It belongs to the user that payloads run as.
type Out struct {
	dir string
}

// NewOut makes an output directory in parent, whose parents must let the payloads' user through.
func (s *Sandbox) NewOut(parent string) (*Out, error) {
	dir, err := os.MkdirTemp(parent, "out-")
	if err != nil {
		return nil, fmt.Errorf("make output directory: %w", err)
	}
	if err := s.acct.chown(dir); err != nil {
		os.Remove(dir)
		return nil, fmt.Errorf("make output directory: %w", err)
	}
	return &Out{dir: dir}, nil
}

// Read returns a file that a payload left; see [ReadFile].
func (o *Out) Read(name string, max int64) ([]byte, error) { return ReadFile(o.dir, name, max) }

// Close removes the directory and all that is in it.
func (o *Out) Close() error {
	if err := removeAll(o.dir); err != nil {
		return fmt.Errorf("remove output directory: %w", err)
	}
	return nil
}

// removeAll removes dir, also where a payload took the owner's own permissions off its directories.
func removeAll(dir string) error {
	if os.RemoveAll(dir) == nil {
		return nil
	}
	// From its parent, since a payload may have shut dir itself.
	root, err := os.OpenRoot(filepath.Dir(dir))
	if err != nil {
		return os.RemoveAll(dir)
	}
	defer root.Close()
	unlock(root, filepath.Base(dir))
	return os.RemoveAll(dir)
}

// unlock makes the directory name of root and those below it accessible again, as far as it can.
func unlock(root *os.Root, name string) {
	if fi, err := root.Lstat(name); err != nil || !fi.IsDir() || root.Chmod(name, 0o700) != nil {
		return
	}
	d, err := root.Open(name)
	if err != nil {
		return
	}
	entries, _ := d.ReadDir(-1)
	d.Close()
	for _, e := range entries {
		if e.IsDir() {
			unlock(root, path.Join(name, e.Name()))
		}
	}
}

// ReadFile reads the file name, relative to dir, that a payload wrote, when no payload runs any more. A missing file is fs.ErrNotExist;
// anything but a regular file is [ErrNotRegular], never opened in a way that waits; over max bytes is [ErrTooLarge]. A link on the way
// is followed only within dir, a link at the end not at all.
func ReadFile(dir, name string, max int64) ([]byte, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("read %q: %w", name, err)
	}
	defer root.Close()
	seen, err := root.Lstat(name)
	if err != nil {
		return nil, fmt.Errorf("read %q: %w", name, err)
	}
	if err := readable(seen, max); err != nil {
		return nil, fmt.Errorf("read %q: %w", name, err)
	}
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("read %q: %w", name, err)
	}
	defer f.Close()
	opened, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("read %q: %w", name, err)
	}
	if !os.SameFile(seen, opened) {
		return nil, fmt.Errorf("read %q: %w: it changed while it was opened", name, ErrNotRegular)
	}
	b, err := io.ReadAll(io.LimitReader(f, max+1))
	if err != nil {
		return nil, fmt.Errorf("read %q: %w", name, err)
	}
	if int64(len(b)) > max {
		return nil, fmt.Errorf("read %q: %w: over %d bytes", name, ErrTooLarge, max)
	}
	return b, nil
}

func readable(fi fs.FileInfo, max int64) error {
	if !fi.Mode().IsRegular() {
		return fmt.Errorf("%w: %s", ErrNotRegular, fi.Mode().Type())
	}
	if fi.Size() > max {
		return fmt.Errorf("%w: %d bytes, %d allowed", ErrTooLarge, fi.Size(), max)
	}
	return nil
}
