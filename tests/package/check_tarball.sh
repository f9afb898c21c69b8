#!/bin/sh
# The relocatable archive works where it is unpacked; in a bare root, given as GW_BARE_ROOT, with nothing else there.
# usage: check_tarball.sh MAKE_TARBALL BUILD_FOLDER [BARE_ROOT]
set -eu
here=$(dirname "$0")
work=$(mktemp -d)
bare=${3:-}
tidy() {
  if [ -n "$bare" ]; then
    umount "$bare/proc" "$bare/dev/shm" 2>/dev/null || true
    rm -rf "${bare:?}/opt/gpuwitness-test"
  fi
  rm -rf "$work"
}
trap tidy EXIT
"$1" "$2" gpuwitness-test "$work/test.tar.gz"
tar -C "$work" -xf "$work/test.tar.gz"
root=$work/gpuwitness-test
for name in lttng-sessiond lttng-consumerd lttng-crash liblttng-ust.so.1 libbabeltrace2.so.0 babeltrace2/babeltrace-plugin-ctf.so fonts.conf; do
  [ -s "$root/lib/gpuwitness/runtime/$name" ] || { echo "FAULT: $name is not in it"; exit 1; }
done
for name in libc.so.6 libcuda.so.1 libnccl.so.2 libmpi.so.40; do
  [ ! -e "$root/lib/gpuwitness/runtime/$name" ] || { echo "FAULT: $name is in it"; exit 1; }
done
[ -s "$root/share/doc/gpuwitness/licences/lttng-tools" ] || { echo "FAULT: no licence of lttng-tools"; exit 1; }
# Its own daemon runs, not that of the system.
"$root/bin/gpuwitness" record -q --simgpu -o "$work/run" -- sh -c 'ls -l /proc/[0-9]*/exe 2>/dev/null; true' >"$work/out"
grep -q "$root/lib/gpuwitness/runtime/lttng-sessiond" "$work/out" || { echo "FAULT: another lttng-sessiond runs"; exit 1; }
"$here/check_install.sh" "$root"
[ -n "$bare" ] || { echo "no bare root given: not tried in one"; exit 0; }
[ "$(id -u)" = 0 ] || { echo "not root: not tried in a bare root"; exit 0; }
mkdir -p "$bare/opt" "$bare/dev/shm"
tar -C "$bare/opt" -xf "$work/test.tar.gz"
mount -t proc proc "$bare/proc"
mount -t tmpfs tmpfs "$bare/dev/shm"
chroot "$bare" /usr/bin/env -i PATH=/usr/bin:/bin HOME=/root sh -euc '
  command -v lttng-sessiond && { echo "FAULT: this root is not bare"; exit 1; }
  cd /tmp && rm -rf demo evidence.tar.gz
  g=/opt/gpuwitness-test/bin/gpuwitness
  $g demo -o demo >/dev/null 2>&1 && grep -q pageable-copy demo/report.txt && test -s demo/overview.png
  $g bundle -o evidence.tar.gz demo/run && $g report evidence.tar.gz >/dev/null
  rm -rf demo evidence.tar.gz' || { echo "FAULT: it does not work in $bare"; exit 1; }
echo "works in $bare too"
