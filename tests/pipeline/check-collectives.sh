#!/bin/sh
# check-collectives.sh BUILD CONF ROWS EXCHANGES PROGRAM [ARGUMENT…]
# Records PROGRAM on the simulated GPU with CONF and looks at its collectives: there are ROWS of them, which make EXCHANGES, each
# of which every rank took part in; all ranks leave it together, and none is waited for longer than it lasts. Their bus bandwidth, by
# nccl-tests' formula, is that of the simulated GPU's model within 1 %.
set -eu
build=$1 conf=$2 rows=$3 exchanges=$4
shift 4
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$build/bin/gpuwitness" record -q --gpu-timing=cupti --simgpu="$conf" -o "$folder/run" -- "$@" > "$folder/out"
"$build/bin/gpuwitness" export --format csv -o "$folder/csv" "$folder/run"
ranks=$((rows / exchanges))
gbps=$(sed -n 's/^nccl_gbps //p' "$conf")
awk -F, -v ranks="$ranks" -v gbps="$gbps" -v rows="$rows" -v exchanges="$exchanges" '
NR == 1 { next }
{
    count++
    key = $1 "," $2
    if (!(key in ends)) { found++; ends[key] = $8 }
    if ($9 == "" || $10 == "") { print "unmatched: " $0; bad = 1 }
    late = $8 - ends[key]
    if (late > 1000 || late < -1000) { print "ends apart: " $0; bad = 1 }
    if ($9 < 0 || $7 + $9 > $8) { print "waited for too long: " $0; bad = 1 }
    bus_bytes = $5 * 2 * (ranks - 1) / ranks
    model = bus_bytes / (8000 + bus_bytes / gbps)
    if ($4 != "all_reduce" || $10 < 0.99 * model || $10 > 1.01 * model) {
        print "bus bandwidth should be " model ": " $0
        bad = 1
    }
    if ($9 == 0) none[key] = 1 # the last to arrive
}
END {
    for (key in ends) if (!(key in none)) { print "nobody was last in " key; bad = 1 }
    if (count != rows || found != exchanges) { print count " rows of " found " exchanges"; bad = 1 }
    exit bad
}' "$folder/csv/collectives.csv"
