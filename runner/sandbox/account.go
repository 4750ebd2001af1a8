package sandbox

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"strconv"
	"strings"
)

// account is who payloads are on the host.
type account struct {
	uid, gid int
	name     string
	drop     bool // the runner is root and drops to it
}

// lookupAccount reads a Config's User: a name, "UID:GID", or nothing for the runner's own user.
func lookupAccount(spec string, kind Kind) (account, error) {
	euid, egid := os.Geteuid(), os.Getegid()
	if spec == "" {
		if euid == 0 && kind == Bubblewrap {
			return account{}, &SetupError{Cause: CauseUser, Problem: "the runner is root and no user for payloads is set",
				Fix: "make one with `useradd --system --shell /usr/sbin/nologin prbench-run` and set sandbox.user: prbench-run"}
		}
		return account{uid: euid, gid: egid, name: userName(euid)}, nil
	}
	a, err := parseAccount(spec)
	if err != nil {
		return account{}, err
	}
	if a.uid == 0 || a.gid == 0 {
		return account{}, fmt.Errorf("user %q: payloads do not run as root or in its group", spec)
	}
	if euid != 0 && a.uid != euid {
		return account{}, fmt.Errorf("user %q: only a root runner can run payloads as another user; this one is uid %d", spec, euid)
	}
	a.drop = euid == 0
	return a, nil
}

func parseAccount(spec string) (account, error) {
	if u, g, ok := strings.Cut(spec, ":"); ok {
		uid, err1 := strconv.ParseUint(u, 10, 31)
		gid, err2 := strconv.ParseUint(g, 10, 31)
		if err1 != nil || err2 != nil {
			return account{}, fmt.Errorf("user %q: expected a name or UID:GID", spec)
		}
		return account{uid: int(uid), gid: int(gid), name: userName(int(uid))}, nil
	}
	u, err := user.Lookup(spec)
	if err != nil {
		return account{}, &SetupError{Cause: CauseUser, Problem: fmt.Sprintf("user %q does not exist here", spec),
			Fix: fmt.Sprintf("make it with `useradd --system --shell /usr/sbin/nologin %s`", spec)}
	}
	uid, err1 := strconv.Atoi(u.Uid)
	gid, err2 := strconv.Atoi(u.Gid)
	if err1 != nil || err2 != nil {
		return account{}, fmt.Errorf("user %q has no numeric ids", spec)
	}
	return account{uid: uid, gid: gid, name: u.Username}, nil
}

func userName(uid int) string {
	u, err := user.LookupId(strconv.Itoa(uid))
	if err != nil {
		return ""
	}
	return u.Username
}

func (a account) chown(dir string) error {
	if !a.drop {
		return nil
	}
	return os.Lchown(dir, a.uid, a.gid)
}

func (a account) chownFile(f *os.File) error {
	if !a.drop {
		return nil
	}
	return f.Chown(a.uid, a.gid)
}

// Own hands dir and all in it to the user that payloads run as, so that a build can write there. Links are handed over themselves,
// never what they point to, and nothing outside dir is touched. It does nothing when the runner is not root: the files are its own.
// No payload may run in dir meanwhile.
func (s *Sandbox) Own(ctx context.Context, dir string) error {
	if !s.acct.drop {
		return nil
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("hand over tree: %w", err)
	}
	defer root.Close()
	err = fs.WalkDir(root.FS(), ".", func(name string, _ fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			err = root.Lchown(name, s.acct.uid, s.acct.gid)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("hand over tree: %w", err)
	}
	return nil
}
