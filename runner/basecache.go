package runner

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/runner/disk"
)

// baseCache keeps built bases of earlier jobs, with the caches that their builds
// left. Only what was built from the base's own files alone comes in, so no
// pull request's build ever writes to it. An entry is taken out by moving it and
// put back by moving it, as one job runs at a time: nothing is copied, and an
// entry that a killed runner had out is gone with its job.
type baseCache struct {
	dir   string
	limit int64 // bytes; 0: nothing is kept
	// tools are the places of the host, beside the system's own, that builds use.
	tools []string
}

// cacheKey is all that a build's result depends on.
type cacheKey struct {
	Repository int64
	SHA        string
	Build      job.Build
	History    bool
	LFS        bool
	Sandbox    string
	Toolchain  string
}

// entry gives the folder of a key. The repository's id comes first, so that
// older bases of a repository are found.
func (b baseCache) entry(k cacheKey) (string, error) {
	data, err := json.Marshal(k)
	if err != nil {
		return "", fmt.Errorf("name a cached build: %w", err)
	}
	sum := sha256.Sum256(data)
	return filepath.Join(b.dir, b.prefix(k)+hex.EncodeToString(sum[:16])), nil
}

func (b baseCache) prefix(k cacheKey) string { return strconv.FormatInt(k.Repository, 10) + "-" }

// The parts of an entry. Its size is written last, when all the rest is on the
// disk: an entry without one was not whole before a power cut.
const (
	cachedTree  = "tree"
	cachedCache = "cache"
	cachedSize  = "size"
)

// entrySize gives what an entry takes, in bytes. It tells of entries that are not
// whole by an error.
func entrySize(at string) (int64, error) {
	size, err := strconv.ParseInt(strings.TrimSpace(hostFile(os.DirFS(at), cachedSize)), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("read the size of a cached build: %w", err)
	}
	if _, err := os.Stat(filepath.Join(at, cachedTree)); err != nil {
		return 0, fmt.Errorf("look for a cached build: %w", err)
	}
	return size, nil
}

// take moves an entry to the job's own folders, and tells whether there was one.
func (b baseCache) take(k cacheKey, tree, cache string) (bool, error) {
	at, err := b.entry(k)
	if err != nil || b.limit <= 0 {
		return false, err
	}
	if _, err := entrySize(at); err != nil {
		return false, nil
	}
	err = errors.Join(os.Rename(filepath.Join(at, cachedTree), tree), os.Rename(filepath.Join(at, cachedCache), cache), removeTree(at))
	if err != nil {
		return false, fmt.Errorf("take a cached build: %w", err)
	}
	return true, nil
}

// latest gives the folder of caches of the repository's newest entry, empty where
// there is none.
func (b baseCache) latest(k cacheKey) string {
	entries, err := os.ReadDir(b.dir)
	if err != nil {
		return ""
	}
	var newest time.Time
	found := ""
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !strings.HasPrefix(e.Name(), b.prefix(k)) || !info.ModTime().After(newest) {
			continue
		}
		at := filepath.Join(b.dir, e.Name())
		if _, err := entrySize(at); err == nil {
			newest, found = info.ModTime(), filepath.Join(at, cachedCache)
		}
	}
	return found
}

// put moves a built base in, and removes what was used longest ago where the
// limit demands it.
func (b baseCache) put(k cacheKey, tree, cache string) error {
	at, err := b.entry(k)
	if err != nil || b.limit <= 0 {
		return err
	}
	size, err := treeSize(tree)
	if err != nil {
		return err
	}
	cacheSize, err := treeSize(cache)
	if err != nil {
		return err
	}
	if size += cacheSize; size > b.limit {
		return nil
	}
	if err := b.shrink(b.limit - size); err != nil {
		return err
	}
	if err := removeTree(at); err != nil {
		return err
	}
	err = errors.Join(os.Mkdir(at, 0o700), os.Rename(cache, filepath.Join(at, cachedCache)), os.Rename(tree, filepath.Join(at, cachedTree)))
	if err == nil {
		err = disk.Sync(at)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(at, cachedSize), []byte(strconv.FormatInt(size, 10)), 0o600)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("keep a build: %w", err), removeTree(at))
	}
	return nil
}

// shrink removes the entries that were used longest ago until the rest has at
// most limit bytes.
func (b baseCache) shrink(limit int64) error {
	entries, err := os.ReadDir(b.dir)
	if err != nil {
		return fmt.Errorf("read the cache of builds: %w", err)
	}
	type kept struct {
		path string
		size int64
		used time.Time
	}
	var all []kept
	var total int64
	for _, e := range entries {
		path := filepath.Join(b.dir, e.Name())
		info, err := e.Info()
		if err != nil {
			return fmt.Errorf("read the cache of builds: %w", err)
		}
		size, err := entrySize(path)
		if err != nil {
			size = limit + 1 // broken: the first to go
			info = nil
		}
		k := kept{path: path, size: size}
		if info != nil {
			k.used = info.ModTime()
		}
		total += size
		all = append(all, k)
	}
	slices.SortFunc(all, func(x, y kept) int { return x.used.Compare(y.used) })
	for _, k := range all {
		if total <= limit {
			return nil
		}
		if err := removeTree(k.path); err != nil {
			return err
		}
		total -= k.size
	}
	return nil
}

// treeSize sums up the files below dir.
func treeSize(dir string) (int64, error) {
	var size int64
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			size += info.Size()
		}
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("measure a build: %w", err)
	}
	return size, nil
}

// toolchain stands for the programs that a build can use: names, sizes and times
// of what lies in the system's places and in tools. A package manager's upgrade
// changes it.
func (b baseCache) toolchain() string {
	h := sha256.New()
	places := []string{"/usr/bin", "/usr/local/bin", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/usr/include", "/usr/local/go", "/usr/local/go/bin"}
	for _, dir := range slices.Concat(places, b.tools) {
		for _, d := range []string{dir, filepath.Join(dir, "bin")} {
			entries, err := os.ReadDir(d)
			if err != nil {
				continue
			}
			for _, e := range entries {
				if info, err := e.Info(); err == nil {
					fmt.Fprintf(h, "%s/%s %d %d\n", d, e.Name(), info.Size(), info.ModTime().UnixNano())
				}
			}
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}
