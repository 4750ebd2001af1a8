package sandbox

import (
	"os"
	"strings"
)

// explain turns the failure of a trial run into what is missing on this machine and how to set it.
func explain(err error) error {
	e := &SetupError{Cause: CauseOther, Problem: "bubblewrap does not work here", Detail: err.Error()}
	msg := err.Error()
	switch {
	case strings.Contains(msg, "proc on /newroot"), strings.Contains(msg, "mount proc"):
		e.Cause, e.Problem = CauseProc, "no /proc of its own can be mounted for a payload, since the container masks parts of /proc"
		e.Fix = "start the container with `--security-opt systempaths=unconfined` (Docker) or `procMount: Unmasked` (Kubernetes), or run the runner on the host"
	case setting("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == "1" && namespaceFault(msg):
		e.Cause, e.Problem = CauseAppArmor, "AppArmor does not let bubblewrap make user namespaces"
		_, taken := os.Stat(otherProfile)
		e.Fix = appArmorFix(taken == nil)
	case setting("/proc/sys/kernel/unprivileged_userns_clone") == "0" && namespaceFault(msg):
		e.Cause, e.Problem = CauseNamespaces, "the kernel does not let ordinary users make user namespaces"
		e.Fix = "run `sysctl -w kernel.unprivileged_userns_clone=1` and put it into /etc/sysctl.d"
	case setting("/proc/sys/user/max_user_namespaces") == "0":
		e.Cause, e.Problem = CauseNamespaces, "the kernel allows no user namespaces"
		e.Fix = "run `sysctl -w user.max_user_namespaces=15000` and put it into /etc/sysctl.d"
	case namespaceFault(msg) && inContainer():
		e.Cause, e.Problem = CauseContainer, "the container does not let bubblewrap make namespaces"
		e.Fix = "start it with a seccomp profile that allows clone, unshare, mount, umount2 and pivot_root " +
			"(`--security-opt seccomp=PROFILE.json --security-opt systempaths=unconfined`), or run the runner on the host"
	case namespaceFault(msg):
		e.Cause, e.Problem = CauseNamespaces, "bubblewrap cannot make namespaces here"
		e.Fix = "see that the kernel has user namespaces and that no seccomp filter or security module (a systemd unit's RestrictNamespaces) forbids them"
	}
	return e
}

// appArmorProfile is the profile that lets bubblewrap alone make user namespaces,
// as deploy/apparmor has it.
const appArmorProfile = `abi <abi/4.0>,
include <tunables/global>

profile prbench-bwrap /usr/bin/bwrap flags=(unconfined) {
  userns,

  include if exists <local/prbench-bwrap>
}
`

// otherProfile is the one for the same program that Ubuntu has. It lets
// bubblewrap make namespaces and takes all rights in them away.
const otherProfile = "/etc/apparmor.d/bwrap-userns-restrict"

// appArmorFix says how to load the profile. Two profiles for one program
// conflict, so that the other one, where the machine has it, goes first.
func appArmorFix(taken bool) string {
	first := ""
	if taken {
		first = "first disable Ubuntu's profile for the same program, since two conflict: `ln -s " + otherProfile +
			" /etc/apparmor.d/disable/ && apparmor_parser -R " + otherProfile + "`; then "
	}
	return first + "allow it to bwrap alone: put deploy/apparmor/prbench-bwrap, which is this,\n\n" + appArmorProfile +
		"\ninto /etc/apparmor.d/prbench-bwrap and run `apparmor_parser -r /etc/apparmor.d/prbench-bwrap`"
}

func namespaceFault(msg string) bool {
	for _, s := range []string{"new namespace", "uid map", "gid map", "RTM_NEWADDR", "RTM_NEWLINK", "user namespace", "Operation not permitted", "Failed to make / slave"} {
		if strings.Contains(msg, s) {
			return true
		}
	}
	return false
}

func setting(file string) string {
	b, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	return trim(b)
}

func trim(b []byte) string { return strings.TrimSpace(string(b)) }

// inContainer tells whether a container engine left its mark.
func inContainer() bool {
	for _, f := range []string{"/.dockerenv", "/run/.containerenv"} {
		if _, err := os.Stat(f); err == nil {
			return true
		}
	}
	return os.Getenv("KUBERNETES_SERVICE_HOST") != "" || os.Getenv("container") != ""
}
