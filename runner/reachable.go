package runner

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/prbench/prbench/runner/sandbox"
)

// reachable tells, before anything is built, that the account which benchmarks
// run as cannot come to a folder, and what to do: bubblewrap's own words for it
// name neither.
func reachable(dir string, f sandbox.Facts) error {
	if f.Kind != sandbox.Bubblewrap || f.UID == os.Geteuid() {
		return nil
	}
	for at := dir; ; at = filepath.Dir(at) {
		info, err := os.Stat(at)
		if err != nil {
			return fmt.Errorf("look at the way to the trees: %w", err)
		}
		if info.Mode().Perm()&0o001 == 0 {
			return fmt.Errorf("the trees are built in %s, and the account that benchmarks run as (uid %d) cannot pass through %s; "+
				"want the search bit there (chmod o+x), or another folder for temporary files (TMPDIR=/tmp)", dir, f.UID, at)
		}
		if at == filepath.Dir(at) {
			return nil
		}
	}
}
