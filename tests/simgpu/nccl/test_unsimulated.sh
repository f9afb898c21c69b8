#!/bin/sh
# test_unsimulated.sh NM LIBRARY LIST: the functions the library only says "invalid usage" for (its weak symbols) are
# those of LIST. To accept a change: NM -D LIBRARY | awk '$2 == "W" && $3 ~ /^p?nccl/ { print $3 }' | LC_ALL=C sort > LIST
set -eu
"$1" -D "$2" | awk '$2 == "W" && $3 ~ /^p?nccl/ { print $3 }' | LC_ALL=C sort | diff "$3" - || {
    echo "The list of unsimulated functions changed (< listed, > found)." >&2
    exit 1
}
