#!/usr/bin/python3
"""Runs bubblewrap, with the options that the sandbox has, under a seccomp profile
as a user without rights, and sees that what the profile refuses is refused."""
import ctypes
import errno
import json
import os
import subprocess
import sys

import seccomp

NOBODY = 65534
BWRAP = """bwrap --unshare-all --unshare-user --disable-userns --cap-drop ALL --clearenv --new-session
    --die-with-parent --uid 1000 --gid 1000 --hostname prbench --ro-bind /usr /usr --symlink usr/bin /bin
    --symlink usr/lib /lib --symlink usr/lib64 /lib64 --proc /proc --dev /dev --tmpfs /tmp --remount-ro /
    --chdir /tmp -- /usr/bin/test -d /proc/1""".split()
ACTIONS = {"SCMP_ACT_ALLOW": lambda rule: seccomp.ALLOW, "SCMP_ACT_ERRNO": lambda rule: seccomp.ERRNO(rule["errnoRet"])}
ADD_KEY = 248 if os.uname().machine == "x86_64" else 217  # the number of add_key


def confine(path):
    with open(path) as f:
        profile = json.load(f)
    default = ACTIONS[profile["defaultAction"]](profile)
    found = seccomp.SyscallFilter(default)
    for rule in profile["syscalls"]:
        for name in rule["names"]:
            args = []
            for arg in rule.get("args", []):
                if arg["op"] != "SCMP_CMP_EQ":
                    sys.exit(f"{name}: this check does not know {arg['op']}")
                args.append(seccomp.Arg(arg["index"], seccomp.EQ, arg["value"]))
            try:
                seccomp.resolve_syscall(seccomp.Arch(), name)
                found.add_rule(ACTIONS[rule["action"]](rule), name, *args)
            except (ValueError, RuntimeError) as e:
                sys.exit(f"{name}: no such system call ({e})")
    if os.getuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    os.chdir("/")
    found.load()


confine(sys.argv[1])
libc = ctypes.CDLL(None, use_errno=True)
if libc.syscall(ADD_KEY, None, None, None, 0, 0) != -1 or ctypes.get_errno() != errno.EPERM:
    sys.exit("the profile lets add_key through")
sys.exit(subprocess.run(BWRAP, stdin=subprocess.DEVNULL).returncode)
