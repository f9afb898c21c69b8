#!/bin/sh
# check-untimed.sh BUILD PROGRAM: of exactly as many operations as have no times the report says so, with both backends.
set -eu
build=$1 program=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for backend in events cupti; do
    rm -rf "$work/run" "$work/csv"
    "$build/bin/gpuwitness" record -q --simgpu --gpu-timing=$backend -o "$work/run" -- "$program" >/dev/null
    "$build/bin/gpuwitness" export --format csv -o "$work/csv" "$work/run"
    untimed=$(awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "start_ns") at = i; next } $at == "" { n++ } END { print n + 0 }' "$work/csv/ops.csv")
    told=$("$build/bin/gpuwitness" report "$work/run" | tr -s ' \n' '  ' | grep -o 'not seen [0-9]*: ' | awk '{ n += $3 } END { print n + 0 }')
    json=$("$build/bin/gpuwitness" report --json "$work/run" | sed -n 's/.*"untimed_operations": \([0-9]*\).*/\1/p')
    echo "$backend: $untimed operations without times, $told told, $json in JSON"
    [ "$untimed" = "$told" ] && [ "$untimed" = "$json" ]
done
