#!/usr/bin/env bash
# The bash completion offers every verb and option of --help, and the values of those that have some.
# usage: check_completion.sh GPUWITNESS COMPLETION
set -u
PATH=$(dirname "$1"):$PATH
faults=0
# shellcheck source=/dev/null
source "$2"
offered() { # LINE: what completion offers at its end
  COMP_LINE=$1 COMP_POINT=${#1}
  _gpuwitness
  printf '%s\n' "${COMPREPLY[@]}"
}
expect() { # LINE WORD
  offered "$1" | grep -qxF -- "$2" || { echo "FAULT: '$1' is not completed to '$2'"; faults=$((faults + 1)); }
}
verbs=$(gpuwitness --help | sed -n '/^Verbs/,/^$/s/^  \([a-z]*\) .*/\1/p')
[ -n "$verbs" ] || { echo "no verbs in --help"; exit 1; }
checked=0
for verb in $verbs; do
  expect "gpuwitness " "$verb"
  for option in $(gpuwitness "$verb" --help | sed -n 's/^  \(    \|-., \)\(--[a-z-]*\)\([=[].*\| .*\|$\)/\2/p'); do
    checked=$((checked + 1))
    case $(offered "gpuwitness $verb $option") in
      "$option" | "$option"=* | "$option"$'\n'*) ;;
      *) echo "FAULT: $verb does not offer $option"; faults=$((faults + 1)) ;;
    esac
  done
done
expect "gpuwitness rec" record
expect "gpuwitness record --gpu-timing=" cupti
expect "gpuwitness record -o run --gpu-timing=e" events
expect "gpuwitness export --format=s" sqlite
expect "gpuwitness plot --theme=" dark
expect "gpuwitness record -- ech" echo
cd / && expect "gpuwitness report us" usr
[ "$(offered "gpuwitness report --j")" = --json ] || { echo "FAULT: --j offers $(offered "gpuwitness report --j")"; faults=$((faults + 1)); }
[ -z "$(offered "gpuwitness export --format=zz")" ] || { echo "FAULT: values that do not exist"; faults=$((faults + 1)); }
echo "$checked options checked, $faults faults"
[ "$faults" = 0 ] && [ "$checked" -gt 30 ]
