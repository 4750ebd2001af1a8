package source

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Prune keeps the mirrors and the folders of LFS objects in dir within limit bytes
// by removing those that were used longest ago; a mirror of too many packs or of too many loose files, which
// slow git down, goes as well and is fetched anew when it is needed. It also removes the scratch of
// checkouts that did not end well. No git may be at work in dir.
func Prune(dir string, limit int64) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the folder of mirrors: %w", err)
	}
	type kept struct {
		path string
		size int64
		used time.Time
	}
	var mirrors []kept
	var total int64
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if strings.HasPrefix(e.Name(), "prbench-git-") {
			if err := os.RemoveAll(path); err != nil {
				return fmt.Errorf("remove a left checkout: %w", err)
			}
			continue
		}
		if !e.IsDir() || !strings.HasSuffix(e.Name(), ".git") && !strings.HasSuffix(e.Name(), lfsSuffix) {
			continue
		}
		k := kept{path: path}
		packs, loose := 0, 0
		err := filepath.WalkDir(path, func(p string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			k.size += info.Size()
			if info.ModTime().After(k.used) {
				k.used = info.ModTime()
			}
			switch of := filepath.Base(filepath.Dir(p)); {
			case strings.HasSuffix(p, ".pack"):
				packs++
			case len(of) == 2 || of == "prbench": // an object by itself, or a ref of ours
				loose++
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("measure a mirror: %w", err)
		}
		if packs > maxPacks || loose > maxLoose {
			if err := os.RemoveAll(path); err != nil {
				return fmt.Errorf("remove a mirror: %w", err)
			}
			continue
		}
		total += k.size
		mirrors = append(mirrors, k)
	}
	slices.SortFunc(mirrors, func(a, b kept) int { return a.used.Compare(b.used) })
	for _, k := range mirrors {
		if total <= limit {
			return nil
		}
		if err := os.RemoveAll(k.path); err != nil {
			return fmt.Errorf("remove a mirror: %w", err)
		}
		total -= k.size
	}
	return nil
}

// The most packs of a mirror, and the most objects and refs that lie in it each
// in a file of its own. A fetch leaves one pack; objects by themselves are of
// mirrors that an older version has made.
const (
	maxPacks = 500
	maxLoose = 5000
)
