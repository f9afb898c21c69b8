#!/usr/bin/env python3
"""Writes seeds for fuzz_kineto or fuzz_nsys into a folder: traces of a few events and of a few repeating steps.

    make_corpus.py kineto|nsys FOLDER"""
import json
import os
import sqlite3
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


def kineto(folder):
    label = {"ph": "M", "name": "process_name", "pid": 1, "tid": 0, "ts": 0, "args": {"name": "python"}}
    for count in (1, 3, 6):
        events = [label] + [event for i in range(count) for event in step(100 * i, 10 * i)]
        trace = {"deviceProperties": [{"id": 0, "name": "GPU", "numSms": 8}], "distributedInfo": {"rank": 0},
                 "traceEvents": events, "baseTimeNanoseconds": 5}
        with open(os.path.join(folder, f"steps-{count}"), "w", encoding="utf-8") as file:
            file.write("\x40" + json.dumps(trace, separators=(",", ":")))


def nsys(folder):
    """Small pages, so that most of a file is content."""
    tables = {"StringIds": "id,value", "CUPTI_ACTIVITY_KIND_RUNTIME": "start,end,globalTid,nameId,correlationId,returnValue",
              "CUPTI_ACTIVITY_KIND_KERNEL": "start,end,deviceId,streamId,correlationId,globalPid,demangledName,graphNodeId,gridX",
              "CUPTI_ACTIVITY_KIND_MEMCPY": "start,end,deviceId,streamId,correlationId,globalPid,bytes,copyKind,srcKind,dstKind",
              "CUPTI_ACTIVITY_KIND_MEMSET": "start,end,deviceId,streamId,correlationId,globalPid,bytes",
              "NVTX_EVENTS": "start,end,globalTid,eventType,text,textId", "ThreadNames": "globalTid,nameId",
              "PROCESSES": "globalPid,name", "TARGET_INFO_GPU": "id,name,totalMemory,smCount"}
    thread = 1 << 56 | 50 << 24 | 51
    names = ["cudaLaunchKernel_v7000", "cudaMemcpyAsync_v3020", "cudaStreamSynchronize_v3020", "k", "ncclDevKernel_AllReduce"]
    for count in (1, 3, 6):
        path = os.path.join(folder, f"steps-{count}")
        if os.path.exists(path):
            os.unlink(path)
        db = sqlite3.connect(path)
        db.execute("PRAGMA page_size=512")
        for table, columns in tables.items():
            db.execute(f"CREATE TABLE {table} ({columns})")

        def add(table, *values):
            db.execute(f"INSERT INTO {table} VALUES ({','.join('?' * len(values))})", values)

        for number, name in enumerate(names):
            add("StringIds", number, name)
        for i in range(count):
            now, first = 1000 * i, 10 * i
            for number, name in enumerate((1, 0, 0, 2)):
                add("CUPTI_ACTIVITY_KIND_RUNTIME", now + 100 * number, now + 100 * number + 50, thread, name, first + number, 0)
            add("CUPTI_ACTIVITY_KIND_MEMCPY", now + 60, now + 90, 0, 7, first, thread - 51, 4096, 1, 1, 2)
            add("CUPTI_ACTIVITY_KIND_KERNEL", now + 160, now + 190, 0, 7, first + 1, thread - 51, 3, None, 8)
            add("CUPTI_ACTIVITY_KIND_KERNEL", now + 260, now + 290, 0, 8, first + 2, thread - 51, 4, None, 1)
            add("NVTX_EVENTS", now, now + 500, thread, 59, "step", None)
        add("CUPTI_ACTIVITY_KIND_MEMSET", 5, 9, 0, 7, None, None, 16)
        add("ThreadNames", thread, 3)
        add("PROCESSES", thread - 51, "python")
        add("TARGET_INFO_GPU", 0, "GPU", 1 << 30, 8)
        db.commit()
        db.close()


def main():
    form, folder = sys.argv[1:]
    os.makedirs(folder, exist_ok=True)
    {"kineto": kineto, "nsys": nsys}[form](folder)


main()
