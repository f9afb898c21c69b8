#!/bin/sh
# check-nodes.sh BUILD PROGRAM NODES: the largest number of nodes in the events of graphs is NODES when PROGRAM is recorded.
set -eu
build=$1 program=$2 nodes=$3
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$build/bin/gpuwitness" record -q --simgpu -o "$folder/run" -- "$build/programs/$program" >"$folder/out"
found=$(babeltrace2 "$folder/run/trace" 2>"$folder/err" | sed -n 's/.* gpuwitness:graph:.* nodes = \([0-9]*\).*/\1/p' | sort -n | tail -n 1)
[ "$found" = "$nodes" ] || { echo "check-nodes.sh: $program: the events of graphs say '$found' nodes, not $nodes" >&2; exit 1; }
