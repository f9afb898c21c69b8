#!/bin/sh
# The truth log of a program has its runtime calls at depth 1, each with the driver calls inside it at depth 2 before it:
# test_truth.sh PROGRAM
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
printf 'truth %s/truth\n' "$folder" > "$folder/config"
SIMGPU_CONFIG=$folder/config "$1"
awk -F, '
    $1 == "call" && $3 == 2 { inner = $4; begin = $5; end = $6; next }
    $1 == "call" && $3 == 1 && ($4 == "cudaMemcpy" || $4 == "__cudaLaunchKernel" || $4 == "cudaMalloc") {
        if (begin < $5 || end > $6) {
            printf "%s of %s ns does not contain %s\n", $4, $5, inner
            bad = 1
        }
        calls[$4 " " inner]++
    }
    $1 == "op" { operations[$4]++ }
    function expect(what, found, wanted) {
        if (found != wanted) {
            printf "%s: %d instead of %d\n", what, found, wanted
            bad = 1
        }
    }
    END {
        expect("allocations", calls["cudaMalloc cuMemAlloc_v2"], 1)
        expect("uploads", calls["cudaMemcpy cuMemcpyHtoD_v2"], 40)
        expect("downloads", calls["cudaMemcpy cuMemcpyDtoH_v2"], 40)
        expect("launches", calls["__cudaLaunchKernel cuLaunchKernel"], 80)
        expect("kernels on the device", operations["kernel"], 80)
        expect("uploads on the device", operations["h2d"], 40)
        exit bad
    }' "$folder"/truth.*.csv
