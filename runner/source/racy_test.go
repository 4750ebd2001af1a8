package source_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/prbench/prbench/runner/source"
)

// A file that is changed within the clock's step after the index was written has
// the time and the size that the index knows.
func TestAChangeInTheSameMomentAsTheIndexIsSeen(t *testing.T) {
	r, _, _ := forked(t)
	r.git("checkout", "-q", "pr")
	r.git("config", "core.trustctime", "false") // the test cannot set that time back
	file, index := filepath.Join(r.dir, "a.txt"), filepath.Join(r.dir, ".git", "index")
	moment := time.Now().Add(-time.Hour).Truncate(time.Second)
	r.write(map[string]string{"a.txt": "before"})
	if err := os.Chtimes(file, moment, moment); err != nil {
		t.Fatal(err)
	}
	r.git("add", "a.txt")
	if err := os.WriteFile(file, []byte("after!"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{file, index} {
		if err := os.Chtimes(path, moment, moment); err != nil {
			t.Fatal(err)
		}
	}
	p := local(t, source.LocalRequest{Repo: r.dir, Base: "main", Head: "."})
	_, new, _ := written(t, p, nil, "", source.Content{})
	if got := read(t, new, "a.txt"); got != "after!" {
		t.Errorf("the head holds %q", got)
	}
}
