package runner_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/runner/source"
)

func TestAHeadWhoseTreeIsTooLargeFailsAtOnceByName(t *testing.T) {
	r, base, _ := project(t, nil, nil)
	tree := r.git("rev-parse", "HEAD^{tree}")
	for range 8 {
		cmd := exec.Command("git", "-C", r.dir, "mktree")
		cmd.Stdin = strings.NewReader(strings.ReplaceAll("040000 tree T\ta\n040000 tree T\tb\n040000 tree T\tc\n040000 tree T\td\n040000 tree T\te\n", "T", tree))
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		tree = strings.TrimSpace(string(out))
	}
	head := r.git("commit-tree", "-p", base, "-m", "nested", tree)
	r.git("update-ref", "refs/heads/pr", head)
	w := newWorldOf(t, r, base, head)
	w.opts.Sources = source.Limits{Files: 10_000}
	stop := w.start(w.opts)
	j := w.wait(w.create(spec()).ID, "ends", ended)
	if o := j.Outcome; o.Kind != job.CheckoutFailed || o.Side != job.New || j.Try != 1 || !strings.Contains(o.Text, "the tree of the head has more than 10000 files and folders") {
		t.Errorf("try %d: %+v", j.Try, o)
	}
	w.head = base
	w.goesOn(spec())
	stop()
	w.nothingLeft()
}

func TestAFetchThatFindsTheDiskFullHasTheCachesMakeRoom(t *testing.T) {
	w := newWorld(t, nil, nil)
	stop := w.start(w.opts)
	w.goesOn(spec())
	stop()
	full := w.opts
	full.Rests = never
	full.Sources.KeepFree = 1 << 60 // of the sources alone: what is built finds room
	stop = w.start(full)
	j := w.wait(w.create(spec()).ID, "ends", ended)
	if j.Outcome.Kind != job.Fault || j.Try != job.MaxTries || !strings.Contains(j.Outcome.Text, "the disk of this machine is nearly full") {
		t.Errorf("try %d: %+v", j.Try, j.Outcome)
	}
	stop()
	for _, dir := range []string{"bases", "mirrors"} {
		if left, err := os.ReadDir(filepath.Join(w.opts.Work, dir)); err != nil || len(left) > 0 {
			t.Errorf("of the %s stay %v, %v", dir, left, err)
		}
	}
}

// emptied empties the files below a folder that match, as a power cut does.
func emptied(t *testing.T, dir string, match func(path string) bool) (n int) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !match(path) {
			return err
		}
		n++
		if err := os.Chmod(path, 0o755); err != nil {
			return err
		}
		return os.Truncate(path, 0)
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestAJobGoesOnWhereAPowerCutHasEmptiedWhatWasKept(t *testing.T) {
	w := newWorld(t, nil, nil)
	for name, cut := range map[string]func(path string) bool{
		// All that a rename without a sync may leave of a cached build.
		"the cached base": func(p string) bool { return strings.Contains(p, "/bases/") },
		"the mirror":      func(p string) bool { return strings.HasSuffix(p, ".pack") },
	} {
		stop := w.start(w.opts)
		w.goesOn(spec())
		stop()
		if emptied(t, w.opts.Work, cut) == 0 {
			t.Errorf("%s: nothing was emptied", name)
		}
		stop = w.start(w.opts)
		w.goesOn(spec())
		stop()
	}
	if log := w.log.String(); !strings.Contains(log, "it is fetched anew") {
		t.Error("the log does not tell of the mirror")
	}
}

func TestABuildThatLocksItsOwnFolderIsAPlainFailureOfItsSide(t *testing.T) {
	locking := "#!/bin/sh\nprintf '#!/bin/sh\\necho \"$1 n=1: 1\"\\n' > run\nchmod +x run\nchmod 0 /cache .\n"
	w := newWorld(t, nil, map[string]string{"build.sh": locking})
	stop := w.start(w.opts)
	j := w.wait(w.create(spec()).ID, "ends", ended)
	if o := j.Outcome; o.Kind != job.BuildFailed || o.Side != job.New || j.Try != 1 || !strings.Contains(o.Text, "the right to enter its folder (mode 0000)") {
		t.Errorf("try %d: %+v", j.Try, o)
	}
	w.head = w.base
	w.goesOn(spec())
	stop()
	w.nothingLeft()
}
