package source

import (
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
)

// OldestGit is the oldest version of git that fetches, checkouts and picks work
// with.
const OldestGit = "2.39"

var gitVersion = regexp.MustCompile(`^git version (([0-9]{1,4})\.([0-9]{1,4})[0-9A-Za-z.-]{0,40})`)

// Git finds the git that sources are fetched with, and wants it to be new enough.
// The error says what to install.
func Git(ctx context.Context) (path, version string, err error) {
	if path, err = exec.LookPath("git"); err != nil {
		return "", "", fmt.Errorf("git is not installed: %w; install it (apt-get install git), version %s or later", err, OldestGit)
	}
	out, err := exec.CommandContext(ctx, path, "version").Output()
	if err != nil {
		return "", "", fmt.Errorf("%s does not run: %w", path, err)
	}
	m := gitVersion.FindSubmatch(out)
	if m == nil {
		return "", "", fmt.Errorf("%s: want a version such as %s, it says %.60q", path, OldestGit, out)
	}
	if version = string(m[1]); !newEnough(string(m[2]), string(m[3])) {
		return "", "", fmt.Errorf("%s is version %s; install %s or later", path, version, OldestGit)
	}
	return path, version, nil
}

// newEnough compares with OldestGit.
func newEnough(major, minor string) bool {
	a, err1 := strconv.Atoi(major)
	b, err2 := strconv.Atoi(minor)
	return err1 == nil && err2 == nil && (a > 2 || a == 2 && b >= 39)
}
