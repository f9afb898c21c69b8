#!/bin/sh
# timing.sh BUILD: what timing operations on the GPU costs the program, a launch: the backends against each other, and two ways
# from CUPTI's records to the calls they are of. On the simulated GPU, whose launches cost no host time of their own here and
# whose CUPTI does less than the real one: the ratios between the backends are what is measured. Fails only when a run fails.
set -eu
build=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
printf 'api_cost_ns cu* 0\nlaunch_latency_ns 1\nkernel * 1\nlazy_load_ns 0\n' >"$work/sim.conf"
program=$build/bin/gw-bench-timed-launches

bare() {
    SIMGPU_CONFIG=$work/sim.conf LD_LIBRARY_PATH=$build/simgpu "$program" "$@"
}
recorded() {
    "$build/bin/gpuwitness" record -q --buffer-size=64M --gpu-timing="$1" --simgpu="$work/sim.conf" -o "$work/run-$1" -- "$program"
}

untraced=$(bare)
off=$(recorded off)
events=$(recorded events)
cupti=$(recorded cupti)
echo "$untraced $off $events $cupti" | awk '{
    printf "untraced launch            %7.0f ns\n", $1
    printf "recorded, no GPU timing    %7.0f ns  (+%.0f)\n", $3, $3 - $1
    printf "recorded, events           %7.0f ns  (+%.0f for the timing: %.2f of recording alone)\n", $5, $5 - $3, ($5 - $3) / ($3 - $1)
    printf "recorded, cupti            %7.0f ns  (+%.0f for the timing: %.2f of recording alone, %.2f of the events)\n", $7, $7 - $3,
           ($7 - $3) / ($3 - $1), ($7 - $3) / ($5 - $3)
}'
activity=$(bare activity)
callback=$(bare callback)
external=$(bare external)
echo "$untraced $activity $callback $external" | awk '{
    printf "CUPTI alone, kernels                  %7.0f ns, %.2f records a launch\n", $3, $4
    printf "CUPTI alone, callback a launch        %7.0f ns, %.2f records (+%.0f)\n", $5, $6, $5 - $3
    printf "CUPTI alone, external ids             %7.0f ns, %.2f records (+%.0f: %.1f times the callback)\n", $7, $8, $7 - $3,
           ($7 - $3) / ($5 - $3)
}'
