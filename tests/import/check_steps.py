#!/usr/bin/env python3
"""Compares the steps found without annotations with the profiler's own ProfilerStep ranges:

    check_steps.py GW_IMPORT_FACTS TRACE

At least 95 % of the boundaries must lie within 1 % of the step's length of the begin of a ProfilerStep range, and there
must be as many steps as ranges. The begin of the first range is no boundary: the trace begins there, in the middle of
what the step before it left behind. Exits 77 (skipped) when the trace is not there."""
import os
import subprocess
import sys


def main():
    program, path = sys.argv[1:3]
    if not os.path.exists(path):
        print(f"SKIP: {os.path.basename(path)} is not here")
        return 77
    output = subprocess.run([program, "--steps", path], stdout=subprocess.PIPE, text=True, check=True).stdout
    lines = [line.split() for line in output.splitlines()]
    ranges = sorted((int(words[1]), int(words[2])) for words in lines
                    if words[0] == "range" and words[4].startswith("ProfilerStep"))
    steps = sorted((int(words[1]), int(words[2])) for words in lines if words[0] == "step")
    print(next(" ".join(words) for words in lines if words[0] == "steps_method"))
    good = 0
    inner = ranges[1:]
    for begin, end in inner:
        error = min((abs(s - begin) for s, _ in steps), default=end) / (end - begin)
        good += error <= 0.01
        print(f"range {begin}: boundary off by {100 * error:.3f} % of the step")
    print(f"{len(steps)} steps for {len(ranges)} ranges, {good} of {len(inner)} boundaries within 1 %")
    return 0 if inner and good >= 0.95 * len(inner) and len(steps) == len(ranges) else 1


sys.exit(main())
