#!/bin/sh
# check-parts.sh GPUWITNESS EMITTER PARTS: a stream file read in parts gives what it gives as a whole, also where the
# recording lost events.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$1" record -q --buffer-size 2M -o "$work/kept" -- "$2" 20 100000
"$3" "$work/kept/trace"
"$1" record --buffer-size 64K -o "$work/lost" -- "$2" 20 200000 2> "$work/said"
"$3" "$work/lost/trace"
