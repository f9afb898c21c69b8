#!/bin/sh
# An installed tree works from where it is: nothing of the build tree is used, nothing but the tree is found.
# usage: check_install.sh PREFIX [ENVIRONMENT...]
set -eu
prefix=$1
shift
faults=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fault() { echo "FAULT: $*"; faults=$((faults + 1)); }
run() { env -i PATH=/usr/bin:/bin:/usr/sbin:/sbin HOME="$work" TMPDIR="$work" "$@"; }
gpuwitness=$prefix/bin/gpuwitness

run "$@" "$gpuwitness" --version | grep -q '^lttng-ust [0-9].*babeltrace2 [0-9].*glibc [0-9]' || fault "--version tells no versions"
run "$@" "$gpuwitness" doctor >"$work/doctor" || fault "doctor: $(cat "$work/doctor")"
cd "$work"
run "$@" "$gpuwitness" demo -o demo >"$work/demo.out" 2>&1 || fault "demo: $(cat "$work/demo.out")"
grep -q 'pageable-copy' demo/report.txt || fault "the demo's report names no suspect"
[ -s demo/overview.png ] || fault "the demo has no picture"
run "$@" "$gpuwitness" bundle -o evidence.tar.gz demo/run || fault "bundle"
run "$@" "$gpuwitness" report --json evidence.tar.gz >bundled.json || fault "the bundle cannot be read"
# What the traced program sees: the preloaded library of this tree, and no variable of the package's own.
run "$@" "$gpuwitness" record -q -o env -- env >env.out
grep -q "^LD_PRELOAD=$prefix/" env.out || fault "the preloaded library is another: $(grep LD_PRELOAD env.out)"
! grep -E '^(LD_LIBRARY_PATH|BABELTRACE|FONTCONFIG|LTTNG_(CONSUMERD|SESSION))' env.out || fault "the program sees variables of ours"

for page in gpuwitness gpuwitness-record gpuwitness-report gpuwitness-plot gpuwitness-export gpuwitness-diff gpuwitness-bundle; do
  [ -s "$prefix/share/man/man1/$page.1" ] || [ -s "$prefix/share/man/man1/$page.1.gz" ] || fault "no man page $page(1)"
done
[ -s "$prefix/share/bash-completion/completions/gpuwitness" ] || fault "no bash completion"
[ -s "$prefix/share/doc/gpuwitness/docs/verdicts.md" ] || fault "no docs"
for file in $(find "$prefix/bin" "$prefix/lib/gpuwitness" -maxdepth 1 -type f); do
  if readelf -d "$file" | grep -E '(RPATH|RUNPATH)' | grep -vq 'ORIGIN'; then fault "$file has a path of the build tree"; fi
done
[ "$faults" = 0 ] && echo "$prefix works"
