package sandbox

import (
	"os"
	"path/filepath"
	"strconv"
)

// thrash notices a run that lives at its memory limit without being ended for it: as long as the kernel can take back a page of the
// program's own file, and read it again a moment later, it sees no lack of memory, and the run stands still for hours.
type thrash struct {
	dir   string
	limit int64
	fails int64 // how often the limit was reached, at the last look
	times int   // looks in a row that found it so
}

// newThrash watches the group of one run; nil where no group limits its memory.
func (l *leaf) newThrash(limit int64) *thrash {
	if l == nil || limit == 0 {
		return nil
	}
	for _, d := range l.dirs {
		for _, file := range []string{"memory.current", "memory.usage_in_bytes"} {
			if _, err := os.Stat(filepath.Join(d, file)); err == nil {
				return &thrash{dir: d, limit: limit}
			}
		}
	}
	return nil
}

// look tells, when it is called about once a second, whether the run has stood at its limit for a while: twice in a row the limit was
// reached anew, while memory that cannot be taken back makes up nearly all of it.
func (t *thrash) look() bool {
	if t.number("memory.current", "memory.usage_in_bytes") < t.limit-t.limit/32 {
		t.times = 0
		return false
	}
	fails := counter(t.dir, "memory.events", "max") + t.number("memory.failcnt")
	held := counter(t.dir, "memory.stat", "anon") + counter(t.dir, "memory.stat", "rss") + counter(t.dir, "memory.stat", "shmem")
	again := fails > t.fails
	t.fails = fails
	if !again || held < t.limit-t.limit/50 {
		t.times = 0
		return false
	}
	t.times++
	return t.times >= 2
}

// number is the content of the first of the files that is there; 0 where none is.
func (t *thrash) number(files ...string) int64 {
	for _, f := range files {
		b, err := os.ReadFile(filepath.Join(t.dir, f))
		if err != nil {
			continue
		}
		if n, err := strconv.ParseInt(trim(b), 10, 64); err == nil {
			return n
		}
	}
	return 0
}
