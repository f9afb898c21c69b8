#!/usr/bin/env python3
"""Events that a program writes once about what stays have to be in the channel that is never paused or overwritten.

They are those that begin with the process: check_context_events.py EVENTS_H TRACING_C
"""
import pathlib
import re
import sys

# About what stays, but written again and again.
REPEATED = {"gpu_clock", "own_time"}

events = pathlib.Path(sys.argv[1]).read_text()
announced = set(re.findall(r"EVENT\(\s*gpuwitness, (\w+),\s*LTTNG_UST_TP_ARGS\(uint32_t, pid,", events)) - REPEATED
(listed,) = re.findall(r"context_events\[\] = \{([^}]*)\}", pathlib.Path(sys.argv[2]).read_text())
apart = set(re.findall(r'"(\w+)"', listed))
for name in sorted(announced - apart):
    print(f"{name}: announced once, but not in the channel for that")
print(f"{len(announced)} events checked")
sys.exit(1 if announced - apart or not announced else 0)
