package source

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/prbench/prbench/internal/config"
	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/runner/disk"
)

// Limits bound what one comparison's sources may cost this machine. Of what is
// zero the default of internal/config counts, but for KeepFree.
type Limits struct {
	// Files is the most files and folders of one side, Size the most bytes of its
	// files, those of submodules and of LFS included.
	Files int
	Size  int64
	// Fetch is the most bytes that the fetches of one comparison may bring.
	Fetch int64
	// Timeout is the longest that one git command may take, FetchTimeout one fetch.
	Timeout, FetchTimeout time.Duration
	// KeepFree is how many bytes are left free on the disk; zero: it may be filled.
	KeepFree int64
}

func (l Limits) withDefaults() Limits {
	if l.Files <= 0 {
		l.Files = config.DefaultCheckoutFiles
	}
	if l.Size <= 0 {
		l.Size = config.DefaultCheckoutSize
	}
	if l.Fetch <= 0 {
		l.Fetch = config.DefaultFetchSize
	}
	if l.Timeout <= 0 {
		l.Timeout = config.DefaultGitTimeout.Std()
	}
	if l.FetchTimeout <= 0 {
		l.FetchTimeout = config.DefaultFetchTimeout.Std()
	}
	return l
}

// Bounds of a path, in bytes. The system takes 4096 with the folder before it
// and 255 between two slashes; a side's mean is far below perFile.
const (
	maxPath    = 3 << 10
	maxName    = 255
	maxLink    = 4<<10 - 1 // where a symbolic link leads
	perFile    = 256
	leastPaths = 64 << 20
)

// ErrTook is of a git command that was ended because it took longer than it may.
var ErrTook = errors.New("took longer than it may")

// tookTooLong is the ErrTook of a command: of a fetch, or of any other.
type tookTooLong struct {
	longest time.Duration
	fetch   bool
}

func (e *tookTooLong) Is(target error) bool { return target == ErrTook }

func (e *tookTooLong) Error() string {
	key := "checkout.timeout"
	if e.fetch {
		key = "checkout.fetch_timeout"
	}
	return fmt.Sprintf("took longer than %v (%s of this runner)", e.longest, key)
}

// tally sums up a side, so that a tree is refused before anything of it is
// written. A few objects that name each other again and again are a tree of any
// size.
type tally struct {
	limits      Limits
	of          whose
	prefix      string // where in the side the tree lies that is being counted
	files       int
	paths, size int64
}

func newTally(l Limits, of whose) *tally { return &tally{limits: l.withDefaults(), of: of} }

// add counts an entry, and refuses the side where that is one too many.
func (t *tally) add(e entry) error {
	for name := range strings.SplitSeq(e.path, "/") {
		if len(name) > maxName {
			return t.refuse("a name of more than %d bytes", maxName)
		}
	}
	length := len(e.path)
	if t.prefix != "" {
		length += len(t.prefix) + len("/")
	}
	if length > maxPath {
		return t.refuse("a path of more than %d bytes", maxPath)
	}
	t.files++
	t.paths += int64(length)
	if t.files > t.limits.Files {
		return t.refuse("more than %d files and folders (checkout.files of this runner)", t.limits.Files)
	}
	if most := max(int64(t.limits.Files)*perFile, leastPaths); t.paths > most {
		return t.refuse("paths of more than %d bytes together", most)
	}
	return t.bytes(e.size)
}

// link refuses a side with a symbolic link that leads nowhere or beyond what the
// system takes: git cannot write it. The entry's size must be known.
func (t *tally) link(e entry) error {
	if e.mode == "120000" && (e.size == 0 || e.size > maxLink) {
		shown := path.Join(t.prefix, e.path)
		return refuse(Malformed, t.of.side, shown, "the tree of %s has the symbolic link %s with a target of %d bytes; want 1 to %d",
			t.of.the, names([]string{shown}), e.size, maxLink)
	}
	return nil
}

// bytes counts what is written.
func (t *tally) bytes(n int64) error {
	if n > t.limits.Size-t.size {
		return t.refuse("files of more than %s together (checkout.size of this runner)", config.FormatSize(t.limits.Size))
	}
	t.size += n
	return nil
}

func (t *tally) refuse(format string, args ...any) *Refused {
	return refuse(TooLarge, t.of.side, "", "the tree of %s has %s", t.of.the, fmt.Sprintf(format, args...))
}

// perEntry is about what the smallest file takes on a disk, in bytes.
const perEntry = 4 << 10

// fits tells whether there is room for so many entries of so many bytes.
func (l Limits) fits(dir string, entries int, size int64) error {
	if l.KeepFree <= 0 {
		return nil
	}
	if free, err := disk.Free(dir); err == nil && free-size-int64(entries)*perEntry < l.KeepFree {
		return fmt.Errorf("%w: a side of %d bytes leaves less than %s", disk.ErrLow, size, config.FormatSize(l.KeepFree))
	}
	return nil
}

// download counts what the fetches of one comparison bring.
type download struct {
	got  int64 // bytes, of the fetches that have ended
	done bool  // the last fetch came to its end
}

// errFetchSize is why a fetch was ended; its reader knows which it was.
var errFetchSize = fmt.Errorf("it brings too much")

// refuseFetch says so of what was fetched.
func (l Limits) refuseFetch(side job.SideName, what string) *Refused {
	return refuse(TooLarge, side, "", "the %s is too much: the repository sends more than %s for this comparison (checkout.fetch of this runner)",
		what, config.FormatSize(l.withDefaults().Fetch))
}

// arrivedBytes is what lies in a folder of packs, what has only come in part
// included.
func arrivedBytes(packs string) int64 {
	entries, err := os.ReadDir(packs)
	if err != nil {
		return 0 // nothing has come
	}
	var size int64
	for _, e := range entries {
		if info, err := e.Info(); err == nil { // else it has just got its name
			size += info.Size()
		}
	}
	return size
}

// clearParts removes what fetches that were ended have left of their packs.
func clearParts(packs string) error {
	parts, err := filepath.Glob(filepath.Join(packs, "tmp_*"))
	if err != nil {
		return fmt.Errorf("look for parts of packs: %w", err)
	}
	for _, p := range parts {
		if err := os.Remove(p); err != nil {
			return fmt.Errorf("remove a part of a pack: %w", err)
		}
	}
	return nil
}
