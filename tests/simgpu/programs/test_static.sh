#!/bin/sh
# A program with the static runtime inside depends on no libcudart and exports none of its functions: test_static.sh PROGRAM
set -eu
if readelf -d "$1" | grep 'NEEDED.*libcudart'; then
    echo "$1 depends on a shared runtime" >&2
    exit 1
fi
if nm -D --defined-only "$1" | grep ' cuda'; then
    echo "$1 exports functions of the static runtime" >&2
    exit 1
fi
