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
recorded() { # the best of three: the backend's thread takes a CPU now and then
    for i in 1 2 3; do
        rm -rf "$work/run-$1"
        "$build/bin/gpuwitness" record -q --buffer-size=64M --gpu-timing="$1" --simgpu="$work/sim.conf" -o "$work/run-$1" -- "$program"
    done | sort -n | head -n 1
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

# What it adds to the device's work: kernels of 20 us one after the other, as the simulated GPU logged them. The median, since a host that
# loses its CPU leaves the device idle, timed or not.
device_ns() { # device_ns TIMING: from one kernel's start to the next
    rm -rf "$work/run-device"
    printf 'api_cost_ns cu* 0\nkernel * 20000\ntruth %s\n' "$work/truth-$1" >"$work/device.conf"
    if [ "$1" = untraced ]; then
        SIMGPU_CONFIG=$work/device.conf LD_LIBRARY_PATH=$build/simgpu "$program" short >/dev/null
    else
        "$build/bin/gpuwitness" record -q --buffer-size=64M --gpu-timing="$1" --simgpu="$work/device.conf" -o "$work/run-device" -- "$program" short >/dev/null
    fi
    awk -F, '$1 == "op" && $2 != "device" { print $8 }' "$work/truth-$1".*.csv | sort -n |
        awk 'NR > 1 { print $1 - before } { before = $1 }' | sort -n | awk '{ all[NR] = $1 } END { printf "%.1f", all[int((NR + 1) / 2)] }'
}
echo "$(device_ns untraced) $(device_ns off) $(device_ns events) $(device_ns cupti)" | awk '{
    printf "from a kernel of 20 us to the next: untraced %.0f ns, recorded without GPU timing %.4f of it, with events %.4f, with cupti %.4f\n",
           $1, $2 / $1, $3 / $1, $4 / $1
}'

# Memory of the program in kB after each of five million launches; the trace is kept small by rotation.
for timing in off events cupti; do
    rm -rf "$work/run-memory"
    printf 'memory after each million launches, %s: ' "$timing"
    "$build/bin/gpuwitness" record -q --rotate=64M --keep=1 --gpu-timing=$timing --simgpu="$work/sim.conf" -o "$work/run-memory" -- "$program" memory
done

activity=$(bare activity)
callback=$(bare callback)
external=$(bare external)
echo "$untraced $activity $callback $external" | awk '{
    printf "CUPTI alone, kernels                  %7.0f ns, %.2f records a launch\n", $3, $4
    printf "CUPTI alone, callback a launch        %7.0f ns, %.2f records (+%.0f)\n", $5, $6, $5 - $3
    printf "CUPTI alone, external ids             %7.0f ns, %.2f records (+%.0f: %.1f times the callback)\n", $7, $8, $7 - $3,
           ($7 - $3) / ($5 - $3)
}'
