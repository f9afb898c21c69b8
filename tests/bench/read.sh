#!/bin/sh
# read.sh BUILD [CALLS]: records a tight loop of calls and prints how long `report` and `export` take against
# `babeltrace2 -c sink.utils.dummy` on the same trace, the best of three each. Fails only when something does not run.
set -eu
build=$1 calls=${2:-5000000}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Two processes, so that there are two streams of events, as on any machine with several CPUs.
"$build/bin/gpuwitness" record -q --buffer-size 256M -o "$work/run" -- \
    sh -c '"$0" 100 "$1" & "$0" 100 "$1" & wait' "$build/bin/gw-trace-emitter" $((calls / 2))

# best COMMAND…: milliseconds of the fastest of three runs
best() {
    least=
    for _ in 1 2 3; do
        from=$(date +%s%N)
        timeout 120 "$@" > "$work/out"
        took=$((($(date +%s%N) - from) / 1000000))
        if [ -z "$least" ] || [ "$took" -lt "$least" ]; then least=$took; fi
    done
    echo "$least"
}

dummy=$(best babeltrace2 "$work/run/trace" --component=sink.utils.dummy)
report=$(best "$build/bin/gpuwitness" report "$work/run")
export=$(best "$build/bin/gpuwitness" export -o "$work/csv" "$work/run")
awk -v calls="$calls" -v cpus="$(nproc)" -v dummy="$dummy" -v report="$report" -v export="$export" 'BEGIN {
    printf "%d calls, %d CPUs: babeltrace2 dummy %d ms, report %d ms (%.2f x, goal 1.00), csv export %d ms (%.2f x)\n",
        calls, cpus, dummy, report, report / dummy, export, export / dummy
}'
