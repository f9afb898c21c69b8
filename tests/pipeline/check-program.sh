#!/bin/sh
# check-program.sh BUILD NAME PROGRAM [OPTION of gw-compare-truth…]
# Records PROGRAM on the simulated GPU, which logs what happens, exports the run and compares the two; then why the GPU was idle with
# what the exported calls say. CONF in the environment: a configuration of the simulated GPU to start from; TIMING: how the GPU's times
# are taken; QUERIES: whether quick queries are only counted. Keeps its folder when something differs.
set -eu
build=$1 name=$2 program=$3
shift 3
folder=$build/tests/pipeline/$name
rm -rf "$folder"
mkdir -p "$folder"
if [ -n "${CONF:-}" ]; then
    cat "$CONF" > "$folder/simgpu.conf"
fi
echo "truth $folder/truth" >> "$folder/simgpu.conf"

fail() {
    echo "check-program.sh: $name: $1; see $folder" >&2
    exit 1
}

export TRAIN_LOOP_STEPS="$folder/steps.txt"
"$build/bin/gpuwitness" record -q --gpu-timing="${TIMING:-events}" --queries="${QUERIES:-all}" --simgpu="$folder/simgpu.conf" -o "$folder/run" -- "$program" \
    > "$folder/program.out" 2> "$folder/program.err" || fail "recording returned $?"
"$build/bin/gpuwitness" export --format csv -o "$folder/csv" "$folder/run" || fail "export returned $?"
if [ -s "$folder/steps.txt" ]; then
    set -- "$@" --steps "$folder/steps.txt"
fi
"$build/bin/gw-compare-truth" "$@" "$folder/run" "$folder/csv" "$folder"/truth.*.csv || fail "the model differs from the truth"
python3 "$(dirname "$0")/check_gaps.py" "$folder/csv" || fail "idle time is not classed as the calls say"
rm -rf "$folder"
