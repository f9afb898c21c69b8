#!/usr/bin/env python3
"""Holistic Trace Analysis (PyPI: HolisticTraceAnalysis) reads the Chrome export, and its own breakdown of the GPU's time
equals the unions of the CSV tables:

    check_hta.py GPUWITNESS EXAMPLES-DIRECTORY

Exits 77 (skipped) where that package is not installed."""
import csv
import os
import pathlib
import subprocess
import sys
import tempfile

os.environ["HTA_DISABLE_NS_ROUNDING"] = "1"
try:
    from hta.trace_analysis import TraceAnalysis
except ImportError:
    print("SKIP: HolisticTraceAnalysis is not installed for this Python")
    sys.exit(77)


def union_us(intervals):
    total, reached = 0, -1
    for begin, end in sorted(intervals):
        total += max(0, end - max(begin, reached))
        reached = max(reached, end)
    return total / 1000


def main():
    gpuwitness, examples = sys.argv[1], pathlib.Path(sys.argv[2])
    with tempfile.TemporaryDirectory(prefix="gw-hta-") as name:
        folder = pathlib.Path(name)
        run, trace = folder / "run", folder / "traces" / "rank0.json"
        trace.parent.mkdir()
        for words in (["record", "-q", "--simgpu", "-o", run, "--", examples / "train_loop"],
                      ["export", "--format", "csv", "-o", folder / "csv", run],
                      ["export", "--format", "chrome", "-o", trace, run]):
            subprocess.run([gpuwitness, *words], check=True, stdout=subprocess.DEVNULL)
        with open(folder / "csv" / "ops.csv", newline="", encoding="utf-8") as file:
            ops = [(op["kind"], int(op["start_ns"]), int(op["end_ns"])) for op in csv.DictReader(file) if op["start_ns"]]
        analysis = TraceAnalysis(trace_files={0: str(trace)}, trace_dir=str(trace.parent),
                                 include_last_profiler_step=True)
        found = analysis.get_temporal_breakdown(visualize=False).iloc[0]
        span = (max(end for _, _, end in ops) - min(begin for _, begin, _ in ops)) / 1000
        busy = union_us((begin, end) for _, begin, end in ops)
        compute = union_us((begin, end) for kind, begin, end in ops if kind == "kernel")
        wanted = {"kernel_time(us)": span, "idle_time(us)": span - busy, "compute_time(us)": compute,
                  "non_compute_time(us)": busy - compute}
        faults = [f"{key}: {found[key]} instead of {value}" for key, value in wanted.items()
                  if abs(found[key] - value) > 0.01]
        print("\n".join(faults) or f"{len(ops)} operations: {wanted}")
    return 1 if faults else 0


sys.exit(main())
