#!/usr/bin/env python3
"""Writes seeds for fuzz_kineto into a folder: traces of a few events and of a few repeating steps.

    make_corpus.py FOLDER"""
import json
import os
import sys


def step(begin, first):
    events = []
    for i, (call, category, name) in enumerate((("cudaMemcpyAsync", "gpu_memcpy", "Memcpy HtoD (Pinned -> Device)"),
                                                ("cudaLaunchKernel", "kernel", "k"), ("cudaMemsetAsync", "gpu_memset", "m"),
                                                ("cudaLaunchKernel", "kernel", "ncclDevKernel_AllReduce"),
                                                ("cudaDeviceSynchronize", None, None))):
        now = begin + 10 * i
        events.append({"ph": "X", "cat": "cuda_runtime", "name": call, "pid": 1, "tid": 1, "ts": now, "dur": 2.5,
                       "args": {"correlation": first + i}})
        if category:
            events.append({"ph": "X", "cat": category, "name": name, "pid": 0, "tid": 7, "ts": now + 3, "dur": 4,
                           "args": {"device": 0, "stream": 7, "correlation": first + i, "bytes": 4, "grid": [1, 2, 3]}})
    return events


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    label = {"ph": "M", "name": "process_name", "pid": 1, "tid": 0, "ts": 0, "args": {"name": "python"}}
    for count in (1, 3, 6):
        events = [label] + [event for i in range(count) for event in step(100 * i, 10 * i)]
        trace = {"deviceProperties": [{"id": 0, "name": "GPU", "numSms": 8}], "distributedInfo": {"rank": 0},
                 "traceEvents": events, "baseTimeNanoseconds": 5}
        with open(os.path.join(folder, f"steps-{count}"), "w", encoding="utf-8") as file:
            file.write("\x40" + json.dumps(trace, separators=(",", ":")))


main()
