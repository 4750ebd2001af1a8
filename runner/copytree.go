package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// copyTree copies a directory that a build wrote into to, which must not exist:
// folders, regular files and links themselves, with their permissions and the
// times that build tools compare. Nothing is followed out of from, and what is
// neither of the three is left out. Nothing may run in from meanwhile.
func copyTree(ctx context.Context, from, to string) (err error) {
	if err := os.Mkdir(to, 0o755); err != nil {
		return fmt.Errorf("copy a build: %w", err)
	}
	src, err := os.OpenRoot(from)
	if err != nil {
		return fmt.Errorf("copy a build: %w", err)
	}
	defer src.Close()
	dst, err := os.OpenRoot(to)
	if err != nil {
		return fmt.Errorf("copy a build: %w", err)
	}
	defer dst.Close()
	var folders []string // deepest last; their times and modes come at the end
	err = fs.WalkDir(src.FS(), ".", func(p string, d fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		switch {
		case d.IsDir():
			folders = append(folders, p)
			if p == "." {
				return nil
			}
			return dst.Mkdir(p, 0o755)
		case d.Type()&fs.ModeSymlink != 0:
			target, err := src.Readlink(p)
			if err != nil {
				return err
			}
			return dst.Symlink(target, p)
		case d.Type().IsRegular():
			return copyFile(src, dst, p)
		}
		return nil
	})
	for i := len(folders) - 1; i >= 0 && err == nil; i-- {
		err = copyTimes(src, dst, folders[i])
	}
	if err != nil {
		return fmt.Errorf("copy a build: %w", err)
	}
	return nil
}

func copyFile(src, dst *os.Root, p string) (err error) {
	// A file that was swapped for a pipe must not hold us up.
	in, err := src.OpenFile(p, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := dst.OpenFile(p, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if err = errors.Join(err, out.Close()); err != nil {
		return err
	}
	return copyTimes(src, dst, p)
}

func copyTimes(src, dst *os.Root, p string) error {
	info, err := src.Stat(p)
	if err != nil {
		return err
	}
	if err := dst.Chmod(p, info.Mode().Perm()); err != nil {
		return err
	}
	return dst.Chtimes(p, info.ModTime(), info.ModTime())
}
