#!/usr/bin/python3
"""check_windows.py BUILD: with record --timing-window operations have times exactly in the windows, only steps in them are
analysed, and the report says what the recording cost; beside it, printed and not judged, what it really cost."""
import csv
import json
import os
import statistics
import subprocess
import sys
import tempfile

build = sys.argv[1]
program = [build + "/examples/train_loop", "--steps", "300"]
ON_NS, PERIOD_NS, EDGE_NS = 60e6, 120e6, 5e6  # EDGE: a call's begin against the moment at which its timing was decided


def rows(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def run(work, name, *options):
    """Returns the program's own median step in ms."""
    steps = f"{work}/{name}.steps"
    environment = dict(os.environ, TRAIN_LOOP_STEPS=steps)
    if options:
        command = [build + "/bin/gpuwitness", "record", "-q", f"--simgpu={work}/sim.conf", *options, "-o", f"{work}/{name}", "--", *program]
    else:
        command = program
        environment |= {"LD_LIBRARY_PATH": build + "/simgpu", "SIMGPU_CONFIG": work + "/sim.conf"}
    subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
    with open(steps, encoding="utf-8") as file:
        lengths = [int(end) - int(begin) for _, begin, end, warmup in map(str.split, file) if warmup == "0"]
    return statistics.median(lengths) / 1e6


def check(work, backend):
    name = f"windows-{backend}"
    traced_ms = run(work, name, f"--gpu-timing={backend}", "--timing-window=60ms/120ms")
    subprocess.run([build + "/bin/gpuwitness", "export", "--format", "csv", "-o", f"{work}/{name}.csv", f"{work}/{name}"], check=True)
    report = json.loads(subprocess.run([build + "/bin/gpuwitness", "report", "--json", f"{work}/{name}"], check=True, capture_output=True).stdout)
    begin_of = {}
    for call in rows(f"{work}/{name}.csv/calls.csv"):
        begin_of.setdefault(call["call_id"], int(call["begin_ns"]))
    timed = untimed = 0
    for op in rows(f"{work}/{name}.csv/ops.csv"):
        phase = begin_of[op["call_id"]] % PERIOD_NS
        if phase < EDGE_NS or abs(phase - ON_NS) < EDGE_NS or phase > PERIOD_NS - EDGE_NS:
            continue
        # A thread switches CUPTI on, which on a busy machine comes late.
        late = backend == "cupti" and op["start_ns"] == "" and phase < ON_NS
        assert late or (op["start_ns"] != "") == (phase < ON_NS), f"{backend}: {op} at {phase / 1e6} ms of a period"
        timed += phase < ON_NS and not late
        untimed += phase >= ON_NS
    assert timed > 300 and untimed > 300, (timed, untimed)
    for step in rows(f"{work}/{name}.csv/steps.csv"):
        assert int(step["begin_ns"]) % PERIOD_NS < ON_NS + EDGE_NS, step
    cost = report["coverage"]["perturbation"]
    assert cost["method"] == "calls and windows", cost
    assert cost["timed_steps"] == report["steps"]["count"] and cost["untimed_steps"] > 20, cost
    assert cost["plus_minus_percent"] > 0 and -50 < cost["percent"] < 100, cost
    assert report["budget_ms"]["compute"] > 0.5, report["budget_ms"]
    return traced_ms, cost


with tempfile.TemporaryDirectory() as work:
    open(work + "/sim.conf", "w", encoding="utf-8").close()
    for backend in ("events", "cupti"):
        bare_ms = run(work, "bare")
        traced_ms, cost = check(work, backend)
        print(f"{backend}: untraced step {bare_ms:.3f} ms, traced {traced_ms:.3f} ms: {100 * (traced_ms / bare_ms - 1):+.1f} %; "
              f"the report says {cost['percent']:.1f} ± {cost['plus_minus_percent']:.1f} % ({cost['call_ns']:.0f} ns a call)")
