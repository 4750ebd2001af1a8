package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestARunThatStandsAtItsMemoryLimitIsNoticed(t *testing.T) {
	const limit = 64 << 20
	for about, c := range map[string]struct {
		used, held int64
		fails      []int
		want       bool
	}{
		"far from the limit":           {limit / 2, limit / 2, []int{10, 20, 30}, false},
		"at the limit with page cache": {limit, limit / 2, []int{10, 20, 30}, false},
		"full, but it goes on":         {limit, limit - 4096, []int{10, 10, 10}, false},
		"full for one look":            {limit, limit - 4096, []int{0, 10, 10, 20, 20}, false},
		"full, again and again":        {limit, limit - 4096, []int{10, 20}, true},
	} {
		for version, files := range map[string][3]string{
			"v2": {"memory.current", "memory.events:max %d\n", "memory.stat:anon %d\nfile 5\n"},
			"v1": {"memory.usage_in_bytes", "memory.failcnt:%d\n", "memory.stat:cache 5\nrss %d\n"},
		} {
			dir := t.TempDir()
			put := func(spec string, n int64) {
				name, format, ok := strings.Cut(spec, ":")
				if !ok {
					format = "%d\n"
				}
				if err := os.WriteFile(filepath.Join(dir, name), fmt.Appendf(nil, format, n), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			put(files[0], c.used)
			put(files[2], c.held)
			watch := (&leaf{dirs: []string{dir}}).newThrash(limit)
			got := false
			for _, n := range c.fails {
				put(files[1], int64(n))
				got = got || watch.look()
			}
			if got != c.want {
				t.Errorf("%s, cgroup %s: noticed %v, expected %v", about, version, got, c.want)
			}
		}
	}
	if (*leaf)(nil).newThrash(limit) != nil || (&leaf{dirs: []string{t.TempDir()}}).newThrash(limit) != nil {
		t.Error("a run without a memory group is watched")
	}
}
