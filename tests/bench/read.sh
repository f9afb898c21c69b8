#!/bin/sh
# read.sh BUILD [CALLS [REPEATS]]: records a tight loop of calls and prints how long `report` and `export` take against
# `babeltrace2 -c sink.utils.dummy` on the same trace, one after the other in turn, each repeat's and the best; then their
# peak memory, and the rate at which a profiler's trace is read. Fails only when something does not run.
set -eu
build=$1 calls=${2:-5000000} repeats=${3:-3}
measure=$build/bin/gw-bench-measure gpuwitness=$build/bin/gpuwitness emitter=$build/bin/gw-trace-emitter
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Two processes, so that there are two streams of events, as on any machine with several CPUs.
"$gpuwitness" record -q --buffer-size 256M -o "$work/run" -- \
    sh -c '"$0" 100 "$1" & "$0" 100 "$1" & wait' "$emitter" $((calls / 2))
for repeat in $(seq "$repeats"); do
    dummy=$("$measure" babeltrace2 "$work/run/trace" --component=sink.utils.dummy)
    report=$("$measure" "$gpuwitness" report "$work/run")
    export=$("$measure" "$gpuwitness" export -o "$work/csv$repeat" "$work/run")
    rm -rf "$work/csv$repeat"
    printf 'dummy %s\nreport %s\nexport %s\n' "$dummy" "$report" "$export" >> "$work/figures"
done
awk -v calls="$calls" -v cpus="$(nproc)" '
    { if (!($1 in wall) || $2 < wall[$1]) { wall[$1] = $2; cpu[$1] = $3 } if ($4 > peak[$1]) peak[$1] = $4; now[$1] = $2 }
    $1 == "export" { printf "babeltrace2 dummy %d ms, report %d ms (%.2f x), csv export %d ms (%.2f x)\n", now["dummy"],
                            now["report"], now["report"] / now["dummy"], now["export"], now["export"] / now["dummy"] }
    END { printf "best, %d calls, %d CPUs: dummy %d ms, report %d ms (%.2f x, goal 1.00), csv export %d ms (%.2f x)\n", calls,
                 cpus, wall["dummy"], wall["report"], wall["report"] / wall["dummy"], wall["export"],
                 wall["export"] / wall["dummy"]
          printf "CPU time of all threads: dummy %d ms, report %d ms, csv export %d ms\n", cpu["dummy"], cpu["report"],
                 cpu["export"]
          printf "peak memory: report %.1f bytes an event (goal 48), csv export %.1f\n", peak["report"] * 1024 / calls,
                 peak["export"] * 1024 / calls }' "$work/figures"

# A profiler's trace, from a run of ours that is written as one.
"$gpuwitness" record -q --buffer-size 64M -o "$work/steps" -- "$emitter" 10000
"$gpuwitness" export --format chrome -o "$work/trace.json" "$work/steps" > "$work/said"
for repeat in $(seq "$repeats"); do
    "$measure" "$gpuwitness" report "$work/trace.json" > "$work/imported$repeat"
done
sort -n "$work"/imported* | awk -v bytes="$(wc -c < "$work/trace.json")" 'NR == 1 {
    printf "profiler trace of %.1f MB: report %d ms, %.0f MB/s (goal 150)\n", bytes / 1e6, $1, bytes / 1e3 / $1 }'
