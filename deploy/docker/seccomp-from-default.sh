#!/bin/sh
# Makes a stricter profile than seccomp.json out of Docker's own default one,
# which lists what is allowed rather than what is not:
#
#   ./seccomp-from-default.sh default.json > seccomp.json
#
# default.json is the file of that name in the sources of your Docker version. It
# changes from version to version, so none is shipped here. Needs jq.
set -eu
[ $# -eq 1 ] || { echo "usage: $0 default.json > seccomp.json" >&2; exit 2; }
# What bubblewrap asks of the kernel and the default profile keeps for
# CAP_SYS_ADMIN. The namespaces are made in a user namespace, where it is root
# over nothing but its own; the payload gets none of these rights.
exec jq '.syscalls += [{
  "names": ["clone", "unshare", "mount", "umount2", "pivot_root", "sethostname"],
  "action": "SCMP_ACT_ALLOW"
}]' "$1"
