package sandbox

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// insideID is the uid and gid of every payload as it sees itself, the same on every machine.
const insideID = "1000"

// etc are the files and directories of /etc that payloads see: what programs need to start, to tell the time and to check certificates.
var etc = []string{
	"ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives", "localtime", "timezone", "mime.types", "protocols", "services",
	"ssl/certs", "ssl/openssl.cnf", "ca-certificates", "pki/tls/certs", "pki/ca-trust/extracted", "crypto-policies",
	"R", "java-*-openjdk", "os-release", "debian_version",
}

// written are files of /etc that are made for the payload, since the host's name the machine and its people.
var written = []struct{ name, text string }{
	{"/etc/passwd", "root:x:0:0:root:/nonexistent:/usr/sbin/nologin\nbench:x:" + insideID + ":" + insideID + ":bench:/tmp:/bin/sh\n"},
	{"/etc/group", "root:x:0:\nbench:x:" + insideID + ":\n"},
	{"/etc/hosts", "127.0.0.1 localhost prbench\n::1 localhost\n"},
	{"/etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n"},
}

var versionNumber = regexp.MustCompile(`(\d+)\.(\d+)\.\d+`)

// findBwrap finds the program and its version.
func (s *Sandbox) findBwrap(ctx context.Context) error {
	name := s.cfg.Bwrap
	if name == "" {
		name = "bwrap"
	}
	file, err := exec.LookPath(name)
	if err != nil {
		return &SetupError{Cause: CauseMissing, Problem: "bubblewrap is not installed", Detail: err.Error(),
			Fix: "install it: `apt-get install bubblewrap` (Debian, Ubuntu), `dnf install bubblewrap` (Fedora), or use --sandbox none for code that you trust"}
	}
	if file, err = filepath.Abs(file); err != nil {
		return fmt.Errorf("find bubblewrap: %w", err)
	}
	cmd := exec.CommandContext(ctx, file, "--version")
	cmd.Env = []string{}
	text, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("ask %s for its version: %w", file, err)
	}
	m := versionNumber.FindStringSubmatch(string(text))
	if m == nil {
		return fmt.Errorf("ask %s for its version: it says %q", file, text)
	}
	major, _ := strconv.Atoi(m[1])
	minor, _ := strconv.Atoi(m[2])
	if major == 0 && minor < 8 {
		return &SetupError{Cause: CauseVersion, Problem: fmt.Sprintf("bubblewrap %s cannot forbid user namespaces inside", m[0]),
			Fix: "install version 0.8.0 or later (Debian 12, Ubuntu 24.04)"}
	}
	s.sys.bwrap, s.facts.Bwrap, s.facts.Version = file, file, m[0]
	return nil
}

// systemBinds are the arguments for /usr and what belongs to it, /etc, and the exposed paths.
func systemBinds(expose []string) []string {
	args := []string{"--ro-bind", "/usr", "/usr"}
	for _, d := range []string{"/etc", "/etc/ssl", "/etc/pki"} {
		args = append(args, "--perms", "0755", "--dir", d)
	}
	for _, d := range []string{"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"} {
		fi, err := os.Lstat(d)
		if err != nil {
			continue
		}
		if fi.Mode()&os.ModeSymlink == 0 {
			args = append(args, "--ro-bind", d, d)
		} else if to, err := os.Readlink(d); err == nil {
			args = append(args, "--symlink", to, d)
		}
	}
	for _, pattern := range etc {
		found, _ := filepath.Glob("/etc/" + pattern)
		for _, f := range found {
			args = append(args, "--ro-bind-try", f, f)
		}
	}
	for _, p := range expose {
		args = append(args, "--ro-bind", p, p)
	}
	return args
}

// arguments are bubblewrap's options for c, which it reads from a descriptor. dataFD is the number of the first descriptor that holds a
// file of written; the system call filter, if there is one, comes after them.
func (s *Sandbox) arguments(c Command, dataFD int) []string {
	args := []string{
		"--unshare-all", "--unshare-user", "--disable-userns", "--cap-drop", "ALL", "--clearenv", "--new-session", "--die-with-parent",
		"--uid", insideID, "--gid", insideID, "--hostname", "prbench",
	}
	args = append(args, s.sys.binds...)
	for i, f := range written {
		args = append(args, "--perms", "0444", "--file", strconv.Itoa(dataFD+i), f.name)
	}
	if s.sys.filter != nil {
		args = append(args, "--seccomp", strconv.Itoa(dataFD+len(written)))
	}
	args = append(args, "--proc", "/proc", "--dev", "/dev")
	for _, dir := range []string{"/dev/shm", "/tmp"} {
		args = append(args, "--perms", "1777")
		if s.cfg.Memory > 0 {
			args = append(args, "--size", strconv.FormatInt(s.cfg.Memory, 10))
		}
		args = append(args, "--tmpfs", dir)
	}
	if c.Tree != "" {
		args = append(args, bindOption(c.Writable), c.Tree, SrcDir)
	}
	if c.Out != nil {
		args = append(args, "--bind", c.Out.dir, OutDir)
	}
	for _, b := range c.ReadOnly {
		args = append(args, "--ro-bind", b.Host, b.Inside)
	}
	for _, b := range c.ReadWrite {
		args = append(args, "--bind", b.Host, b.Inside)
	}
	args = append(args, "--remount-ro", "/dev", "--remount-ro", "/", "--chdir", c.Dir)
	for _, e := range env(defaultPath(), "/tmp") {
		name, value, _ := strings.Cut(e, "=")
		args = append(args, "--setenv", name, value)
	}
	return args
}

func bindOption(writable bool) string {
	if writable {
		return "--bind"
	}
	return "--ro-bind"
}
