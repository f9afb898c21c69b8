#!/bin/sh
# test_run.sh BUILD: tests/device/run as far as it goes without a GPU: it skips, its road works on the simulated GPU, and a program
# that behaves otherwise when it is recorded makes it fail.
set -eu
build=$1
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
    echo "$*" >&2
    cat "$work/out" >&2
    exit 1
}

status=0
PATH=/usr/bin:/bin "$here/run" --tool "$build/bin/gpuwitness" >"$work/out" 2>&1 || status=$?
if ! nvidia-smi -L >/dev/null 2>&1; then
    [ $status = 77 ] && grep -q '^SKIP' "$work/out" || fail "without a GPU: status $status, not 77"
fi
mkdir "$work/programs"
for name in graph_capture streams; do cp "$build/programs/$name" "$work/programs/"; done
GW_DEVICE_PROGRAMS=$work/programs "$here/run" --simgpu --tool "$build/bin/gpuwitness" >"$work/out" 2>&1 || fail "the road does not work"
grep -q '^2 programs, 0 failures' "$work/out" || fail "not both programs were checked"
# shellcheck disable=SC2016
printf '#!/bin/sh\necho "preloaded: $LD_PRELOAD"\n' >"$work/programs/tells"
chmod +x "$work/programs/tells"
status=0
GW_DEVICE_PROGRAMS=$work/programs "$here/run" --simgpu --only tells --tool "$build/bin/gpuwitness" >"$work/out" 2>&1 || status=$?
[ $status = 1 ] && grep -q '^FAILED tells.*another output recorded' "$work/out" || fail "a difference went unnoticed: status $status"
