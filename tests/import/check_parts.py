#!/usr/bin/env python3
"""Reads traces at once and in parts, as large ones are: facts, losses and errors must be the same, wherever a part begins.

    check_parts.py GW_IMPORT_FACTS SCRATCH_FOLDER"""
import json
import os
import shutil
import subprocess
import sys

TRAP = '{"ph": "X", "name": "\\"}},\n{\\"ph\\":'


def event(number, **more):
    name = f"kernel_{number // 3 % 7}"
    args = {"device": number % 2, "stream": 7 + number % 3, "correlation": number, "trap": TRAP,
            "frames": [{"frame": 1}, {"frame": 2, "more": [{"deep": TRAP}]}]}
    if number % 4 == 1:
        args |= {"Collective name": "allreduce", "dtype": "Float", "In msg nelems": 8, "Out msg nelems": 8, "Group size": 2,
                 "Process Group Name": f"group {number % 3}"}
        name = "ncclDevKernel_AllReduce"
    return {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": 100 + number * 10 + 0.25, "dur": 5,
            "args": args, **more}


def call(number):
    function = ["cudaLaunchKernel", f"cudaNoSuchCall{number // 40}"][number % 5 == 4]
    return {"ph": "X", "cat": "cuda_runtime", "name": function, "pid": 40 + number // 50, "tid": 1 + number // 30,
            "ts": 97 + number * 10, "dur": 2, "args": {"correlation": number}}


def other(number):
    return [{"ph": "X", "cat": "user_annotation", "name": f"range {number // 9}", "pid": 40, "tid": 9, "ts": number * 9, "dur": 4},
            {"ph": "M", "name": "thread_name", "pid": 40, "tid": number // 30, "args": {"name": f"thread {number}"}},
            {"ph": "X", "cat": "kernel", "name": "without times", "pid": 0, "tid": 0},
            {"ph": "X", "cat": "cpu_op", "name": TRAP, "pid": 1, "tid": 1, "ts": 1, "dur": 1}][number % 4]


EVENTS = [make(number) for number in range(120) for make in (call, event, other)]
DEVICES = [{"id": 0, "name": "first", "numSms": 1}, {"id": 1, "name": "second", "numSms": 2}]
HEAD = {"deviceProperties": DEVICES, "distributedInfo": {"rank": 3, "nccl_version": "2.19"}, "baseTimeNanoseconds": 77}
FIRST, LAST = {"traceEvents": EVENTS, **HEAD}, {**HEAD, "traceEvents": EVENTS}
HALF = len(EVENTS) // 2


def texts():
    plain = json.dumps(LAST)
    yield "last", plain
    yield "first", json.dumps(FIRST)
    yield "lines", json.dumps(LAST, indent=1)
    yield "carriage-returns", json.dumps(FIRST, indent=1).replace("\n", "\r\n")
    yield "tight", json.dumps(LAST, separators=(",", ":"))
    yield "mark", "\ufeff" + plain
    yield "bare", json.dumps(EVENTS)
    yield "twice", json.dumps({"traceEvents": EVENTS[:HALF]})[:-1] + "," + json.dumps({**HEAD, "traceEvents": EVENTS[HALF:]})[1:]
    yield "hidden", json.dumps({"other": {"traceEvents": EVENTS[:HALF]}, "traceEvents": EVENTS[HALF:], "more": [EVENTS]})
    yield "nested", json.dumps({"traceEvents": [EVENTS[:HALF], *EVENTS[HALF:], {"ph": "X", "args": {"list": EVENTS}}]})
    yield "changed", json.dumps(LAST)[:-1] + ', "baseTimeNanoseconds": 99, "distributedInfo": {"rank": 5}}'
    yield "one-text", json.dumps({"traceEvents": EVENTS[:3], "text": plain})
    yield "cut", plain[:-200]
    yield "cut-in-text", plain[:plain.rindex("frames") - 10]
    yield "missing-comma", plain.replace("}, {", "} {", 1)
    middle = plain.index("}, {", len(plain) // 2)
    yield "missing-comma-later", plain[:middle] + "} {" + plain[middle + 4:]
    yield "extra-brace", plain[:middle] + "}}, {" + plain[middle + 4:]
    yield "open-text", plain[:middle] + '}, "{' + plain[middle + 4:]
    yield "open-text-in-event", plain[:middle] + ', "open": "}, {' + plain[middle + 4:]
    yield "mark-and-cut", "\ufeff" + plain[:-200]
    yield "not-utf8", plain[:-300] + "\udcff" + plain[-299:]
    yield "no-space", plain.replace("}, {", "}" + " " * 2000 + ", {")


def main():
    program, folder = sys.argv[1:3]
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    faults = compared = 0
    for name, text in texts():
        path = os.path.join(folder, name + ".json")
        with open(path, "wb") as file:
            file.write(text.encode(errors="surrogateescape"))
        runs = [subprocess.run([program, "--parts", str(parts), path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
                for parts in (1, 2, 3, 7, 40)]
        outcomes = [(run.returncode, run.stdout, run.stderr) for run in runs]
        compared += len(outcomes[0][1].splitlines())
        different = [run.args[2] for run, outcome in zip(runs, outcomes) if outcome != outcomes[0]]
        print(f"{name}: status {runs[0].returncode}, {len(runs[0].stdout.splitlines())} facts"
              f"{', other in parts: ' + ' '.join(different) if different else ''} {runs[0].stderr.decode()[-90:].strip()}")
        faults += bool(different) or runs[0].returncode not in (0, 1)
    print(f"{faults} faults, {compared} facts")
    return 1 if faults or not compared else 0


sys.exit(main())
