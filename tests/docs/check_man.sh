#!/bin/sh
# Every verb that --help lists has a man page, and every option of its --help stands in that page.
# usage: check_man.sh GPUWITNESS MAN_FOLDER
set -eu
gpuwitness=$1
folder=$2
faults=0
verbs=$("$gpuwitness" --help | sed -n '/^Verbs/,/^$/s/^  \([a-z]*\) .*/\1/p')
[ -n "$verbs" ] || { echo "no verbs in --help"; exit 1; }
for verb in $verbs; do
  page=$folder/gpuwitness-$verb.1
  if [ ! -s "$page" ]; then
    echo "$verb: no man page"
    faults=$((faults + 1))
    continue
  fi
  grep -q "gpuwitness-$verb" "$folder/gpuwitness.1" || { echo "$verb: not in gpuwitness(1)"; faults=$((faults + 1)); }
  text=$(sed 's/\\-/-/g; s/\\f[BIR]//g' "$page")
  for option in $("$gpuwitness" "$verb" --help | grep -oE -- '--[a-z][a-z-]*' | sort -u); do
    case "$text" in
      *"$option"*) ;;
      *) echo "$verb: $option is not in its man page"; faults=$((faults + 1)) ;;
    esac
  done
done
echo "$(echo "$verbs" | wc -w) verbs checked, $faults faults"
[ "$faults" = 0 ]
