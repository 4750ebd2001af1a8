#!/usr/bin/env bash
# Checks the files of this folder as far as it can be done without Docker, a
# cluster or GitHub. It installs nothing. It needs, by Debian's names: systemd,
# python3-yaml, python3-seccomp, bubblewrap. What it cannot check is listed in
# docs/unproven.md.
set -euo pipefail
cd "$(dirname "$0")"
failed=0
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

part() { # part NAME COMMAND…: runs it, and shows what it says where it fails
  local name=$1
  shift
  if "$@" >"$tmp/out" 2>&1; then
    echo "ok      $name"
  else
    echo "FAILED  $name"
    sed 's/^/        /' "$tmp/out"
    failed=1
  fi
}

units() {
  # verify wants the program and the user to exist: the copies name ones that do.
  mkdir -p "$tmp/units"
  local unit
  for unit in systemd/*.service; do
    sed -E 's#^ExecStart=/usr/local/bin/bot#ExecStart=/bin/true#; s/^(User|Group)=.*/\1=root/' "$unit" >"$tmp/units/$(basename "$unit")"
  done
  # Whatever it prints is about a line that systemd would ignore.
  local said
  said=$(systemd-analyze verify --recursive-errors=no --man=no "$tmp"/units/*.service 2>&1) || { echo "$said"; return 1; }
  said=$(grep -F "$tmp/units" <<<"$said" || true)
  [ -z "$said" ] || { echo "$said"; return 1; }
}

exposure() { # exposure UNIT MOST: systemd's own mark, times ten; less is better
  systemd-analyze security --offline=true --threshold="$2" "$PWD/systemd/$1"
}

part "systemd-analyze verify" units
made() {
  mkdir -p "$tmp/root/etc"
  systemd-sysusers --dry-run --root="$tmp/root" "$PWD/systemd/prbench.sysusers.conf" && systemd-tmpfiles --create --root="$tmp/root" "$PWD/systemd/prbench.tmpfiles.conf" &&
    test -f "$tmp/root/run/lock/prbench-runner.lock"
}

part "systemd-sysusers, systemd-tmpfiles" made
part "systemd-analyze security: serve" exposure prbench-serve.service 20
part "systemd-analyze security: runner" exposure prbench-runner.service 65
part "YAML, JSON, Dockerfiles, accounts" /usr/bin/python3 check.py
part "bubblewrap works under the container's seccomp profile" /usr/bin/python3 docker/seccomp-try.py docker/seccomp.json
for script in check.sh docker/*.sh; do
  part "bash -n $script" bash -n "$script"
done

# Linters that Debian does not have run where they are installed.
for linter in hadolint dockerfilelint; do
  if command -v "$linter" >/dev/null; then
    part "$linter" "$linter" docker/Dockerfile docker/Dockerfile.runner
  fi
done
if command -v promtool >/dev/null; then
  part "promtool" promtool check rules prometheus/alerts.yaml
fi
if command -v kubeconform >/dev/null; then
  part "kubeconform" kubeconform -strict kubernetes/serve.yaml
fi
if command -v apparmor_parser >/dev/null; then
  part "apparmor_parser" apparmor_parser --skip-kernel-load --skip-cache apparmor/prbench-bwrap
fi
exit "$failed"
