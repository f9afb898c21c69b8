#!/bin/sh
# check-trace.sh GPUWITNESS CASE: exports the run of a case and compares exit status, stdout, stderr and the CSV files with what
# lies beside it. To accept new output: UPDATE=1 tests/traces/check-trace.sh build/bin/gpuwitness tests/traces/succeed/loop
set -eu
gpuwitness=$(realpath "$1") case=$(realpath "$2")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$case"
status=0
"$gpuwitness" export -o "$work/csv" run > "$work/stdout" 2> "$work/stderr" || status=$?
echo "$status" > "$work/status"
for name in stdout stderr status calls.csv ops.csv steps.csv; do
    have=$work/$name
    case $name in *.csv) have=$work/csv/$name ;; esac
    if [ -n "${UPDATE:-}" ]; then
        if [ -e "$have" ]; then cp "$have" "$case/$name"; fi
    elif [ -e "$case/$name" ] || [ -e "$have" ]; then
        diff -u "$case/$name" "$have" || {
            echo "again: tests/traces/check-trace.sh build/bin/gpuwitness $case" >&2
            exit 1
        }
    fi
done
