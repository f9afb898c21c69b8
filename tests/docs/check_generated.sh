#!/bin/sh
# What is made of the tables is made of the tables as they are.
# usage: check_generated.sh PYTHON ROOT
set -eu
faults=0
for name in events suspects; do
  "$1" "$2/docs/generate/$name.py" "$2" | cmp - "$2/docs/$name.md" || {
    echo "FAULT: docs/$name.md is old: docs/generate/$name.py . > docs/$name.md"
    faults=1
  }
done
exit $faults
