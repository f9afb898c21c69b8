#!/usr/bin/env python3
"""Compares the model of a PyTorch profiler trace with what this script computes from the JSON itself:

    check_kineto.py GW_IMPORT_FACTS TRACE

Unions of kernels, communication, copies and memsets, idle time, the calls with their times, and which operation belongs
to which call, all to the nanosecond. Exits 77 (skipped) when the trace is not there."""
import collections
import decimal
import gzip
import json
import os
import subprocess
import sys

COPY = {"HtoD": "h2d", "DtoH": "d2h", "DtoD": "d2d", "PtoP": "p2p"}


def ns(text):
    return int((decimal.Decimal(text) * 1000).to_integral_value(decimal.ROUND_HALF_UP))


def kind_of(event):
    if event["cat"] == "gpu_memset":
        return "memset"
    if event["cat"] == "gpu_memcpy":
        return COPY[event["name"].split()[1]]
    return "comm" if event["name"].startswith(("ncclKernel", "ncclDevKernel")) else "kernel"


COLLECTIVES = {"allreduce": "all_reduce", "broadcast": "broadcast", "_allgather_base": "all_gather"}
SIDES = {"Pageable": "pageable", "Pinned": "pinned", "Device": "device", "Array": "device", "Managed": "managed", "Unified": "managed"}
WIDTHS = {"Float": 4, "Long": 8, "BFloat16": 2}


def union(intervals):
    total, reached = 0, -1
    for begin, end in sorted(intervals):
        total += max(0, end - max(begin, reached))
        reached = max(reached, end)
    return total


def wanted_facts(trace):
    events = [e for e in trace["traceEvents"] if e["ph"] == "X"]
    span = {id(e): (ns(e["ts"]), ns(e["ts"]) + ns(e["dur"])) for e in events}
    calls = [e for e in events if e["cat"] in ("cuda_runtime", "cuda_driver")]
    ops = [e for e in events if e["cat"] in ("kernel", "gpu_memcpy", "gpu_memset")]
    known = {int(e["args"]["correlation"]) for e in calls}
    copying = {int(e["args"]["correlation"]) for e in calls if "memcpy" in e["name"].lower()}
    facts = collections.Counter()
    facts["faults 0"] += 1
    facts["timed yes"] += 1
    facts[f"calls {len(calls)}"] += 1
    facts[f"ops {len(ops)}"] += 1
    facts[f"untied {sum(int(e['args']['correlation']) not in known for e in ops)}"] += 1
    facts[f"realtime_offset_ns {int(trace.get('baseTimeNanoseconds', 0))}"] += 1
    for pid in sorted({e["pid"] for e in calls}):
        facts[f"process {int(pid)} rank {int(trace['distributedInfo']['rank'])}"] += 1
    for e in ops:
        begin, end = span[id(e)]
        correlation = int(e["args"]["correlation"])
        facts[f"op {kind_of(e)} {begin} {end} stream {int(e['args']['stream'])} bytes {int(e['args'].get('bytes', 0))} "
              f"call {correlation if correlation in known else 'none'}"] += 1
        if e["cat"] == "gpu_memcpy" and correlation in copying:
            source, destination = e["name"].split("(")[1].rstrip(")").split(" -> ")
            facts[f"copy of call {correlation} from {SIDES.get(source, 'unknown')} to {SIDES.get(destination, 'unknown')}"] += 1
    numbers = collections.Counter()
    ends = {int(e["args"]["correlation"]): span[id(e)] for e in calls if e["cat"] == "cuda_runtime"}
    for e in sorted((e for e in ops if "Collective name" in e["args"]), key=lambda e: ends[int(e["args"]["correlation"])]):
        args = e["args"]
        size = max(int(args["In msg nelems"]), int(args["Out msg nelems"])) * WIDTHS[args["dtype"]]
        facts[f"collective {COLLECTIVES[args['Collective name']]} {size} bytes at {span[id(e)][0]} "
              f"rank {int(trace['distributedInfo']['rank'])} of {int(args['Group size'])} "
              f"number {numbers[args['Process Group Name']]}"] += 1
        numbers[args["Process Group Name"]] += 1
    for e in events:
        if e["cat"] == "user_annotation":
            begin, end = span[id(e)]
            facts[f"range {begin} {end} {int(e['tid']) % 2**32} {e['name']}"] += 1
    for device in sorted({int(e["args"]["device"]) for e in ops}):
        here = [e for e in ops if int(e["args"]["device"]) == device]
        groups = {"kernel": ["kernel"], "comm": ["comm"], "copy": list(COPY.values()), "memset": ["memset"],
                  "busy": ["kernel", "comm", "memset", *COPY.values()]}
        for group, kinds in groups.items():
            spans = [span[id(e)] for e in here if kind_of(e) in kinds]
            facts[f"device {device} {group}_count {len(spans)}"] += 1
            facts[f"device {device} {group}_ns {union(spans)}"] += 1
        spans = [span[id(e)] for e in here]
        idle = max(e for _, e in spans) - min(b for b, _ in spans) - union(spans)
        facts[f"device {device} idle_ns {idle}"] += 1
        name = next(p["name"] for p in trace["deviceProperties"] if int(p["id"]) == device)
        facts[f"device {device} name {name}"] += 1
    times = collections.Counter((int(e["args"]["correlation"]), *span[id(e)]) for e in calls)
    return facts, times


def main():
    facts_program, path = sys.argv[1:3]
    if not os.path.exists(path):
        print(f"SKIP: {os.path.basename(path)} is not here")
        return 77
    opener = gzip.open if path.endswith(".gz") else open
    with opener(path) as file:
        trace = json.load(file, parse_float=decimal.Decimal)
    wanted, wanted_calls = wanted_facts(trace)
    lines = subprocess.run([facts_program, path], stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
    calls = collections.Counter(tuple(int(w) for w in line.split()[1:4]) for line in lines if line.startswith("call "))
    found = collections.Counter(line for line in lines
                                if not line.startswith(("call ", "thread ", "coverage ", "details ")))
    differences = [f"missing: {line}" for line in (wanted - found)] + [f"unwanted: {line}" for line in (found - wanted)]
    differences += [f"missing call: {call}" for call in (wanted_calls - calls)]
    differences += [f"unwanted call: {call}" for call in (calls - wanted_calls)]
    for line in differences[:40]:
        print(line)
    print(f"{os.path.basename(path)}: {sum(wanted.values()) + sum(wanted_calls.values())} facts compared, "
          f"{len(differences)} differ")
    for line in lines:
        if line.startswith(("device", "untied", "thread", "coverage", "details")):
            print("  " + line)
    return 1 if differences else 0


sys.exit(main())
