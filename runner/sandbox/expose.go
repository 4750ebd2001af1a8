package sandbox

import (
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
)

// secret are paths of which nothing is exposed: homes, sockets of daemons, kernel interfaces, keys.
var secret = []string{
	"/root", "/home", "/run", "/var/run", "/proc", "/dev", "/boot",
	"/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/ssh", "/etc/ssl/private", "/etc/sudoers", "/etc/sudoers.d",
	"/etc/machine-id",
}

// whole are directories that are refused themselves, while single things in them may be named.
var whole = []string{"/", "/etc", "/var", "/tmp", "/sys", "/var/lib", "/var/cache", "/srv", "/mnt", "/media"}

// checkExpose refuses what would hand the machine to a payload. Both a path as written and what its links lead to are judged.
func checkExpose(paths, private []string) error {
	guarded := append([]string{}, secret...)
	if u, err := user.LookupId(strconv.Itoa(os.Geteuid())); err == nil && cleanAbs(u.HomeDir) && u.HomeDir != "/" {
		guarded = append(guarded, u.HomeDir)
	}
	for _, p := range private {
		abs, err := filepath.Abs(p)
		if err != nil {
			return fmt.Errorf("private path %q: %w", p, err)
		}
		guarded = append(guarded, abs)
		if real, err := filepath.EvalSymlinks(abs); err == nil {
			guarded = append(guarded, real)
		}
	}
	for _, p := range paths {
		if !cleanAbs(p) {
			return fmt.Errorf("expose %q: expected a clean absolute path", p)
		}
		real, err := filepath.EvalSymlinks(p)
		if err != nil {
			return fmt.Errorf("expose: %w", err)
		}
		for _, q := range []string{p, real} {
			if err := judgeExposed(p, q, guarded); err != nil {
				return err
			}
		}
		for _, own := range []string{SrcDir, OutDir, "/tmp"} {
			if within(p, own) {
				return fmt.Errorf("expose %s is refused: %s is the sandbox's own", p, own)
			}
		}
	}
	return nil
}

// judgeExposed judges q, which is what p is or leads to.
func judgeExposed(p, q string, guarded []string) error {
	as := ""
	if q != p {
		as = fmt.Sprintf(" (it leads to %s)", q)
	}
	for _, w := range whole {
		if q == w {
			return fmt.Errorf("expose %s%s is refused: name the single directories that benchmarks need instead", p, as)
		}
	}
	for _, g := range guarded {
		if within(q, g) || within(g, q) {
			return fmt.Errorf("expose %s%s is refused: it would show payloads something of %s", p, as, g)
		}
	}
	return nil
}
