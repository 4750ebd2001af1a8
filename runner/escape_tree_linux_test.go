package runner_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prbench/prbench/internal/job"
)

// baseMark is a file of the base, by which a hostile head looks for its tree.
const baseMark = "of-the-base-7f3a.txt"

// changeBase looks for the base's tree by every way that a head could know: where
// the kernel says that its own is bound from, the runner's paths, the neighbours of
// what is bound, the roots, folders and open files of all processes that can be
// seen, and all that there is but what has no trees. It changes each tree that it
// finds, and in place each file of its own, which would be the base's too where the
// runner had linked the two. TOPS and OWN are for a rehearsal on the host, where
// "/" is not to be searched.
const changeBase = `
mount -o remount,rw /src; mount -o remount,rw /
told=$(while read -r _ _ _ root at _; do [ "$at" != /src ] || echo "${root%/*}/old"; done < /proc/self/mountinfo)
for top in ${TOPS:-"$told" "/tmp$told" "$WORK" /proc/[0-9]*/root"$WORK" /proc/[0-9]*/root /proc/[0-9]*/cwd/.. /proc/[0-9]*/fd/* /src/.. /cache/.. /out/.. /old /}; do
	find "$top/" -maxdepth 6 \( -name usr -o -name proc -o -name sys -o -name dev \) -prune -o -name ` + baseMark + ` -print | while read -r found; do
		dir=${found%/*}
		chmod u+w "$dir" "$dir/value.txt"; echo 666 > "$dir/value.txt"; echo 666 > "$found"; touch "$dir/added"; rm -f "$dir/made"
	done
done
find "${OWN:-/src}" -type f ! -name '*.sh' ! -name run | while read -r own; do echo 666 > "$own"; done
true
`

// sums is a benchmark whose value is a checksum of all that its tree holds.
const sums = `#!/bin/sh
cd /src && echo "$1 n=1: $(find . -name .git -prune -o -print -type f -exec cat {} + | sort | cksum | cut -d' ' -f1)"
`

// rehearsed makes sure that changeBase changes trees that it can reach: one in the
// runner's folder, and one whose file is linked with its own.
func rehearsed(t *testing.T) {
	t.Helper()
	work := room(t)
	for _, dir := range []string{"job/old/bench", "linked", "own"} {
		if err := os.MkdirAll(filepath.Join(work, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	reached, linked := filepath.Join(work, "job/old/value.txt"), filepath.Join(work, "linked/value.txt")
	for _, f := range []string{reached, linked, filepath.Join(work, "job/old", baseMark)} {
		if err := os.WriteFile(f, []byte("100"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	own := filepath.Join(work, "own")
	if err := os.Link(linked, filepath.Join(own, "value.txt")); err != nil {
		t.Fatal(err)
	}
	_, script, _ := strings.Cut(changeBase, "/\n") // without the remounting, which is for the sandbox
	cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", script)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "TOPS=" + filepath.Join(work, "job"), "OWN=" + own}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, f := range []string{reached, linked} {
		if data, err := os.ReadFile(f); err != nil || string(data) != "666\n" {
			t.Fatalf("%s can be reached and was not changed: %q, %v", f, data, err)
		}
	}
}

func TestNothingThatAHeadDoesChangesTheBasesTree(t *testing.T) {
	rehearsed(t)
	base := map[string]string{"run": sums, "build.sh": "#!/bin/sh\necho built > made\n", baseMark: "base"}
	// compare gives the base's and the head's values with such a head.
	compare := func(t *testing.T, head func(work string) map[string]string) (old, new string) {
		work := room(t)
		r, _, _ := project(t, base, head(work))
		c := newComparison(t, r)
		c.Work = work
		c.Spec.Runs = 3
		if o := c.run(t).Outcome; o.Kind != job.Measured || o.Text != "" {
			t.Fatalf("%s, %s:\n%s", o.Kind, o.Text, o.Log)
		}
		return values(c.runs, job.Old), values(c.runs, job.New)
	}
	untouched, _ := compare(t, func(string) map[string]string { return map[string]string{"value.txt": "200"} })
	if untouched == "" || strings.Contains(untouched, " n=1=0 ") || strings.Contains(untouched, " bench/") {
		t.Fatalf("the base's tree has no one checksum: %q", untouched)
	}
	const says = "echo \"$1 n=1: $(cat value.txt)\"\n"
	for _, c := range []struct {
		where, file, then string
		new               string // that the head's own tree was changed shows that it tried
	}{
		{"build", "build.sh", "", "bench/a.js n=1=666"},
		{"benchmark", "run", says, "bench/a.js n=1=100"}, // not even its own
	} {
		t.Run("from its "+c.where, func(t *testing.T) {
			old, new := compare(t, func(work string) map[string]string {
				attack := fmt.Sprintf("#!/bin/sh\nWORK=%q\n(%s) >/dev/null 2>&1\n", work, changeBase)
				return map[string]string{"run": "#!/bin/sh\n" + says, c.file: attack + c.then}
			})
			if old != untouched {
				t.Errorf("the base's tree was changed: its checksums are %q, were %q", old, untouched)
			}
			if new != c.new {
				t.Errorf("the head's values are %q, expected %q", new, c.new)
			}
		})
	}
}
