#!/usr/bin/env bash
# The verb as people use it: files written and named; for each kind of bad input one line and the right status.
# usage: test_cli.sh GPUWITNESS PROGRAM DIRECTORY
set -u
gpuwitness=$1 program=$2 directory=$3
failures=0

fail() { printf 'FAILED: %s\n' "$1"; failures=$((failures + 1)); }

# expect STATUS PATTERN ARGS…: the verb ends with STATUS and says one line that matches.
expect() {
  local status=$1 pattern=$2 said got
  shift 2
  said=$("$gpuwitness" plot "$@" 2>&1 >/dev/null)
  got=$?
  [ "$got" = "$status" ] || fail "plot $*: status $got, not $status"
  [ "$(printf '%s\n' "$said" | wc -l)" = 1 ] || fail "plot $*: more than one line: $said"
  [[ $said =~ $pattern ]] || fail "plot $*: said '$said'"
}

rm -rf "$directory"
mkdir -p "$directory"
"$gpuwitness" record -q --simgpu -o "$directory/run" -- "$program" >/dev/null || fail "recording"

written=$("$gpuwitness" plot "$directory/run" -o "$directory/pictures") || fail "plotting"
for name in overview timeline budget gaps kernels copies comm ranks memory; do
  [ -s "$directory/pictures/$name.png" ] || fail "$name.png was not written"
  [[ $written == *"$directory/pictures/$name.png"* ]] || fail "$name.png was not named"
done
"$gpuwitness" plot "$directory/run" -o "$directory/one" --only budget --format svg --theme dark --width 1200 >/dev/null ||
  fail "plotting one"
[ "$(ls "$directory/one")" = budget.svg ] || fail "--only budget wrote $(ls "$directory/one")"
"$gpuwitness" plot "$directory/run" -o "$directory/one" --only timeline --steps 3..5 >/dev/null || fail "--steps"
"$gpuwitness" plot "$directory/run" -o "$directory/one" --only timeline --range 1..2.5 >/dev/null || fail "--range"

"$gpuwitness" plot "$directory/run" -o "$directory/two" --against "$directory/run" --only diff >/dev/null ||
  fail "--against"
"$gpuwitness" plot "$directory/run" -o "$directory/two" --against "$directory/run" --only diff --per token=64,128 \
  >/dev/null || fail "--per"
"$gpuwitness" plot "$directory/run" -o "$directory/both" --against "$directory/run" >/dev/null || fail "all with --against"
[ -s "$directory/both/scaling.png" ] && [ -s "$directory/both/diff.png" ] && [ -s "$directory/both/overview.png" ] ||
  fail "all with --against wrote $(ls "$directory/both")"
[ "$(ls "$directory/two")" = diff.png ] || fail "--against wrote $(ls "$directory/two")"

expect 1 'no-such-run' "$directory/no-such-run"
expect 1 'no-such-run' "$directory/run" --against "$directory/no-such-run"
"$gpuwitness" record -q --simgpu -o "$directory/empty" -- true || fail "recording a program without CUDA"
expect 1 'no steps with GPU times' "$directory/run" --against "$directory/empty"
expect 1 "matches 'no_such_kernel'" "$directory/run" --step no_such_kernel
expect 2 "'diff' compares two runs" "$directory/run" --only diff
expect 2 'per goes with --against' "$directory/run" --per 32
expect 2 'per needs' "$directory/run" --against "$directory/run" --per 0
expect 2 'goes with --step' "$directory/run" --step-every 2
expect 1 'cannot make the directory' "$directory/run" -o "$directory/run/run.json"
expect 1 'cannot write .*: ' "$directory/run" -o /proc
expect 2 "no plot 'tmeline'" --only tmeline "$directory/run"
expect 2 'steps needs' --steps 5..3 "$directory/run"
expect 2 'steps needs FROM..TO with whole numbers' --steps 1.5..3 "$directory/run"
expect 1 'has no steps 3..900; see' --steps 3..900 "$directory/run"
expect 2 'range wants' --range 1-2 "$directory/run"
expect 2 'numbers that rise' --range 2..2 "$directory/run"
expect 1 'ends at [0-9.]+ ms, before' --range 1e8..2e8 "$directory/run"
expect 2 'width wants a number' --width 20 "$directory/run"
expect 2 'scale wants a number' --scale nan "$directory/run"
expect 2 "no 'neon'" --theme neon "$directory/run"
expect 2 "no 'gif'" --format gif "$directory/run"
expect 2 'the run to plot is missing' -o "$directory"
expect 2 'one run at a time' "$directory/run" "$directory/run"

[ "$failures" = 0 ] && rm -rf "$directory"
exit "$((failures > 0))"
