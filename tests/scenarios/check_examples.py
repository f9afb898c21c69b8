#!/usr/bin/env python3
"""Records the examples on the simulated GPU and compares what `gpuwitness report --json` says with what each example
says of itself: the planted fault is confirmed, the repaired variant does not confirm it, steps are found as they were.

    check_examples.py GPUWITNESS EXAMPLES-DIRECTORY GPU-TIMING

Nothing is asserted on times: other work on the machine may change them."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

# What noise of the machine may show as.
NOISE = {"hiccup", "host-blocked", "shared-gpu"}

# program and arguments; confirmed in this order of savings, first of all; never confirmed; steps (None: not checked)
CASES = [
    (["train_loop"], {"host-sync", "pageable-copy"}, set(), 55),
    (["train_loop", "--pinned"], {"host-sync"}, {"pageable-copy"}, 55),
    (["train_loop", "--pinned", "--no-sync"], set(), {"pageable-copy", "alloc-churn", "small-kernels"}, 55),
    (["launch_bound"], {"dispatch-bound"}, {"pageable-copy", "alloc-churn", "host-sync"}, None),
    (["alloc_churn"], {"alloc-churn"}, {"pageable-copy", "host-sync", "pinning-in-loop"}, None),
    (["device_sync"], {"device-sync"}, {"pageable-copy", "alloc-churn"}, 40),
    (["graph_loop"], set(), {"device-sync", "host-sync", "pageable-copy", "graph-recapture", "dispatch-bound"}, None),
]


def report_of(gpuwitness, examples, timing, words, directory):
    run = os.path.join(directory, "run")
    subprocess.run([gpuwitness, "record", "-q", "--simgpu", f"--gpu-timing={timing}", "-o", run, "--",
                    examples / words[0], *words[1:]], check=True, stdout=subprocess.DEVNULL)
    output = subprocess.run([gpuwitness, "report", "--json", run], check=True, capture_output=True)
    return json.loads(output.stdout)


def faults_of(report, wanted, never, steps):
    confirmed = [v["id"] for v in report["verdicts"] if v["verdict"] == "confirmed"]
    faults = [f"{name} is not confirmed" for name in sorted(wanted - set(confirmed))]
    faults += [f"{name} is confirmed" for name in sorted(never & set(confirmed))]
    leading = [name for name in confirmed if name not in NOISE][:len(wanted)]
    if wanted and not faults and set(leading) != wanted:
        faults.append(f"{', '.join(leading)} stand before {', '.join(sorted(wanted))}")
    if steps is not None and report["steps"]["count"] != steps:
        faults.append(f"{report['steps']['count']} steps were found, the program made {steps}")
    budget = report["budget_ms"]
    if abs(sum(v for k, v in budget.items() if k != "total") - budget["total"]) > 1e-6:
        faults.append("the budget does not sum to the step")
    if report["replay"]["error_percent"] is None or report["replay"]["error_percent"] > 2:
        faults.append(f"the replay's error is {report['replay']['error_percent']} %")
    return faults


def main():
    gpuwitness, examples, timing = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3]
    failed = False
    for words, wanted, never, steps in CASES:
        with tempfile.TemporaryDirectory(prefix="gw-scenario-") as directory:
            report = report_of(gpuwitness, examples, timing, words, directory)
        faults = faults_of(report, wanted, never, steps)
        confirmed = [f"{v['id']} {v['saving_ms']:.3f} ms" for v in report["verdicts"] if v["verdict"] == "confirmed"]
        print(f"{' '.join(words)}: {', '.join(confirmed) or 'nothing confirmed'}")
        for fault in faults:
            print(f"    {fault}")
        failed |= bool(faults)
    return 1 if failed else 0


sys.exit(main())
