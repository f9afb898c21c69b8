#!/bin/sh
# read.sh BUILD [EVENTS [REPEATS]]: records a tight loop of calls and a training loop on the simulated GPU, of about as many
# events, and prints how long `report` and `export` take against `babeltrace2 -c sink.utils.dummy` on the same trace, one
# after the other in turn, each repeat's and the best; then their peak memory, and the rate at which a profiler's trace is
# read. Fails only when something does not run.
set -eu
build=$1 events=${2:-5000000} repeats=${3:-3}
measure=$build/bin/gw-bench-measure gpuwitness=$build/bin/gpuwitness emitter=$build/bin/gw-trace-emitter
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
events_a_step=408 # of gw-bench-training

# compare WHAT RUN
compare() {
    count=$(babeltrace2 "$2/trace" --component=sink.utils.counter | awk '$2 == "Event" { count = $1 } END { print count }')
    for repeat in $(seq "$repeats"); do
        dummy=$("$measure" babeltrace2 "$2/trace" --component=sink.utils.dummy)
        report=$("$measure" "$gpuwitness" report "$2")
        export=$("$measure" "$gpuwitness" export -o "$work/csv" "$2")
        rm -rf "$work/csv"
        printf 'dummy %s\nreport %s\nexport %s\n' "$dummy" "$report" "$export"
    done | awk -v what="$1" -v count="$count" -v cpus="$(nproc)" '
        { if (!($1 in wall) || $2 < wall[$1]) { wall[$1] = $2; cpu[$1] = $3 } if ($4 > peak[$1]) peak[$1] = $4; now[$1] = $2 }
        $1 == "export" { printf "%s: babeltrace2 dummy %d ms, report %d ms (%.2f x), csv export %d ms (%.2f x)\n", what,
                                now["dummy"], now["report"], now["report"] / now["dummy"], now["export"],
                                now["export"] / now["dummy"] }
        END { printf "%s, best, %d events, %d CPUs: dummy %d ms, report %d ms (%.2f x, goal 1.00), csv export %d ms (%.2f x)\n",
                     what, count, cpus, wall["dummy"], wall["report"], wall["report"] / wall["dummy"], wall["export"],
                     wall["export"] / wall["dummy"]
              printf "%s, CPU time of all threads: dummy %d ms, report %d ms, csv export %d ms\n", what, cpu["dummy"],
                     cpu["report"], cpu["export"]
              printf "%s, peak memory: report %.1f bytes an event (goal 48 at 20 million), csv export %.1f\n", what,
                     peak["report"] * 1024 / count, peak["export"] * 1024 / count }'
    rm -rf "$2"
}

# Two processes, so that there are two streams of events, as on any machine with several CPUs.
"$gpuwitness" record -q --buffer-size 256M -o "$work/run" -- \
    sh -c '"$0" 100 "$1" & "$0" 100 "$1" & wait' "$emitter" $((events / 2))
compare "plain loop" "$work/run"

GW_BENCH_STEPS=$((events / events_a_step)) "$gpuwitness" record -q --simgpu --gpu-timing=cupti --buffer-size 256M \
    -o "$work/run" -- "$build/bin/gw-bench-training" > "$work/said"
compare "training loop" "$work/run"

# A profiler's trace, from a run of ours that is written as one.
"$gpuwitness" record -q --buffer-size 64M -o "$work/steps" -- "$emitter" 10000
"$gpuwitness" export --format chrome -o "$work/trace.json" "$work/steps" > "$work/said"
for repeat in $(seq "$repeats"); do
    "$measure" "$gpuwitness" report "$work/trace.json" > "$work/imported$repeat"
done
sort -n "$work"/imported* | awk -v bytes="$(wc -c < "$work/trace.json")" 'NR == 1 {
    printf "profiler trace of %.1f MB: report %d ms, %.0f MB/s (goal 150)\n", bytes / 1e6, $1, bytes / 1e3 / $1 }'
