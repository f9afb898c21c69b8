#!/usr/bin/env python3
"""Small profiler traces in the forms that versions and kinds of GPUs bring, and the facts that must be read from each:

    check_forms.py GW_IMPORT_FACTS SCRATCH_FOLDER"""
import json
import os
import shutil
import subprocess
import sys


def call(name, ts, correlation, dur=2, **more):
    return {"ph": "X", "cat": "cuda_runtime", "name": name, "pid": 40, "tid": 41, "ts": ts, "dur": dur,
            "args": {"External id": correlation, "cbid": 211, "correlation": correlation}, **more}


def op(category, name, ts, correlation, dur=3, **args):
    args = {"External id": 9, "device": 0, "context": 1, "stream": 7, "correlation": correlation} | args
    return {"ph": "X", "cat": category, "name": name, "pid": args["device"], "tid": args["stream"], "ts": ts, "dur": dur,
            "args": args}


def amd():
    calls = [("hipLaunchKernel", "cudaLaunchKernel"), ("hipExtModuleLaunchKernel", "cuLaunchKernel"),
             ("hipMemcpyWithStream", "cudaMemcpy"), ("hipModuleLoadData", "cuModuleLoadData"),
             ("hipHostMalloc", "cudaHostAlloc"), ("hipStreamSynchronize", "cudaStreamSynchronize"), ("hipOfTomorrow", "?")]
    events = [call(hip, 10 * i, i) for i, (hip, _) in enumerate(calls)]
    events += [op("kernel", "Cijk_Ailk", 4, 0), op("gpu_memcpy", "CopyHostToDevice", 24, 2, bytes=8),
               op("gpu_memcpy", "Memcpy DtoH (Device -> Host)", 28, 2, bytes=4)]
    wanted = {f"call {i} {10000 * i} {10000 * i + 2000} {cuda} depth 1" for i, (_, cuda) in enumerate(calls)}
    return events, wanted | {
        "op kernel 4000 7000 stream 7 bytes 0 call 0", "op h2d 24000 27000 stream 7 bytes 8 call 2",
        "op d2h 28000 31000 stream 7 bytes 4 call 2",
        "coverage 3 names of calls: 6 calls of AMD's HIP are taken for, and named as, the CUDA functions they follow",
        "coverage 3 unknown function: 1 calls of hipOfTomorrow, which this version does not know: taken as other calls"}


def gpu_only():
    return [op("kernel", "k", 10, 1), op("kernel", "k", 20, 2)], {
        "calls 0", "ops 2", "coverage 3 enqueue calls: 2 GPU operations and not one call: what the host did cannot be told"}


def begun_late():
    events = [op("kernel", "before", 1, 900), op("kernel", "before", 2, 901), call("cudaLaunchKernel", 10, 1),
              op("kernel", "own", 13, 1), op("kernel", "lost", 20, 902), op("kernel", "other", 21, 903, stream=9)]
    return events, {"untied 4", "coverage 3 enqueue calls: 4 GPU operations without the call that enqueued them; 3 of them come "
                    "first on their stream, as what was enqueued before recording began does"}


def invalid():
    events = [call("cudaLaunchKernel", 10, 1), op("kernel", "k", 13, 1), op("kernel", "k", 20, 2, device=-1),
              op("kernel", "k", 20, 2, dur=-5), call("cudaLaunchKernel", -3.5, 3),
              call("cudaLaunchKernel", 20, 4, dur=18446744073709551.615), call("cudaLaunchKernel", 20, 4, tid="main")]
    return events, {"calls 1", "ops 1", "coverage 3 damaged events: 5 events lack a field that their kind must have, or have "
                    "no valid one, and were skipped"}


def new():
    """What else stands in a trace of 2025 and means nothing here."""
    events = [call("cudaLaunchKernel", 10, 1), op("kernel", "k", 13.25, 1),
              {"ph": "X", "cat": "cuda_sync", "name": "Stream Wait Event", "pid": 0, "tid": 7, "ts": 12, "dur": 1,
               "args": {"stream": 7, "correlation": 1, "device": 0, "wait_on_stream": 9}},
              {"ph": "X", "cat": "gpu_user_annotation", "name": "ProfilerStep#1", "pid": 0, "tid": 7, "ts": 13, "dur": 3},
              {"ph": "X", "cat": "python_function", "name": "train.py(3): step", "pid": 40, "tid": 41, "ts": 9, "dur": 9},
              {"ph": "X", "cat": "overhead", "name": "Lazy Function Loading", "pid": -1, "tid": 0, "ts": 10, "dur": 4},
              {"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": 40, "tid": 41, "ts": 11,
               "args": {"Bytes": -512, "Device Id": 0}},
              {"ph": "s", "id": 1, "pid": 40, "tid": 41, "ts": 10, "cat": "ac2g", "name": "ac2g"},
              {"ph": "f", "id": 1, "pid": 0, "tid": 7, "ts": 13, "cat": "ac2g", "name": "ac2g", "bp": "e"},
              {"ph": "C", "name": "GPU 0", "pid": 0, "ts": 11, "args": {"used": 5}},
              {"ph": "X", "cat": "Trace", "ts": 1, "dur": 99, "pid": "Spans", "tid": "PyTorch Profiler", "name": "PyTorch Profiler (0)"},
              {"name": "Record Window End", "ph": "i", "s": "g", "pid": "", "tid": "", "ts": 99},
              {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "pid": 40, "tid": 41, "ts": 9.5, "dur": 9}]
    return events, {"calls 1", "ops 1", "op kernel 13250 16250 stream 7 bytes 0 call 1", "range 9500 18500 41 ProfilerStep#1",
                    "realtime_offset_ns 1733000000000000000", "process 40 rank 3"}


def main():
    program, folder = sys.argv[1:3]
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    faults = 0
    for make in (amd, gpu_only, begun_late, invalid, new):
        events, wanted = make()
        path = os.path.join(folder, make.__name__ + ".json")
        with open(path, "w") as file:
            json.dump({"schemaVersion": 1, "displayTimeUnit": "ms", "baseTimeNanoseconds": 1733000000000000000,
                       "distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 8}, "traceEvents": events,
                       "traceName": "x.pt.trace.json"}, file)
        done = subprocess.run([program, path], stdout=subprocess.PIPE, text=True, check=True)
        missing = wanted - set(done.stdout.splitlines())
        print(f"{make.__name__}: {len(wanted)} facts, {len(missing)} missing")
        for line in sorted(missing):
            print(f"  {line}")
        faults += len(missing)
    return 1 if faults else 0


sys.exit(main())
