#!/bin/sh
# Lists the functions of a simulated library that only answer "not supported" (its weak symbols) and compares them with
# the committed list: test_unsimulated.sh LIBRARY LIST
set -eu
library=$1
list=$2
found=$(nm -D --defined-only "$library" | awk '$2 == "W" { sub(/@.*/, "", $3); print $3 }' | LC_ALL=C sort)
if ! printf '%s\n' "$found" | diff "$list" -; then
    echo "The functions that $(basename "$library") does not simulate changed; if that is meant, update $(basename "$list")." >&2
    exit 1
fi
