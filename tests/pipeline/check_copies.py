#!/usr/bin/env python3
"""check_copies.py BUILD: what a report says of copies against the simulated GPU's own log, of the analysed steps: count
and bytes of each kind exactly, their time and what of it no kernel hides to the error of the clocks' conversion."""
import csv
import json
import os
import pathlib
import subprocess
import sys
import tempfile

BUILD = pathlib.Path(sys.argv[1])
COPIES = ("h2d", "d2h", "d2d", "p2p")
CLOCK_ERROR_NS = 100  # of each end of an operation, more than CUPTI's times are off


def rows(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def truth_ops(folder):
    """Operations of every process of the program: the log's lines of kind op, by its own header."""
    ops = []
    for path in folder.glob("truth.*.csv"):
        with open(path, encoding="utf-8") as file:
            for line in file:
                fields = line.rstrip("\n").split(",")
                if fields[0] == "op" and fields[1] != "device":
                    device, stream, kind, name, size, submit, start, end, node, *_ = fields[1:]
                    ops.append({"device": int(device), "kind": kind, "bytes": int(size), "submit": int(submit),
                                "start": int(start), "end": int(end)})
    return ops


def union(spans):
    merged = []
    for begin, end in sorted(spans):
        if merged and begin <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], end)
        else:
            merged.append([begin, end])
    return merged


def overlap(merged, begin, end):
    return sum(max(0, min(end, e) - max(begin, b)) for b, e in merged)


def check(work, name, program, kinds_wanted):
    folder = work / name
    folder.mkdir()
    (folder / "simgpu.conf").write_text(f"devices 2\ntruth {folder}/truth\n", encoding="utf-8")
    subprocess.run([BUILD / "bin/gpuwitness", "record", "-q", "--gpu-timing=cupti", f"--simgpu={folder}/simgpu.conf",
                    "-o", folder / "run", "--", *program], check=True, stdout=subprocess.DEVNULL)
    report = json.loads(subprocess.run([BUILD / "bin/gpuwitness", "report", "--json", folder / "run"], check=True,
                                       capture_output=True).stdout)
    subprocess.run([BUILD / "bin/gpuwitness", "export", "-o", folder / "csv", folder / "run"], check=True)
    steps = [(int(step["begin_ns"]), int(step["end_ns"])) for step in rows(folder / "csv" / "steps.csv")
             if step["warmup"] in ("0", "false")]
    ops = truth_ops(folder)
    copies = report["copies"]
    assert copies["by_step"] == bool(steps), f"{name}: {len(steps)} steps, by_step {copies['by_step']}"

    def analysed(op):
        # Submitted within a call that began in the step: calls are far shorter than the pauses at its edges.
        return not steps or any(begin <= op["submit"] < end for begin, end in steps)

    hiding = {device: union([(op["start"], op["end"]) for op in ops
                             if op["device"] == device and op["kind"] not in COPIES + ("host",)])
              for device in {op["device"] for op in ops}}
    wanted = {}
    for op in ops:
        if op["kind"] not in COPIES + ("memset",) or not analysed(op):
            continue
        entry = wanted.setdefault(op["kind"], {"count": 0, "bytes": 0, "ns": 0, "exposed": 0})
        length = op["end"] - op["start"]
        entry["count"] += 1
        entry["bytes"] += op["bytes"]
        entry["ns"] += length
        entry["exposed"] += length - overlap(hiding[op["device"]], op["start"], op["end"])
    told = {}
    for kind in copies["kinds"]:
        entry = told.setdefault(kind["kind"].split("-")[0], {"count": 0, "bytes": 0, "ns": 0, "exposed": 0})
        entry["count"] += kind["count"]
        entry["bytes"] += kind["bytes"]
        entry["ns"] += (kind["ms"] or 0) * 1e6
        entry["exposed"] += (kind["exposed_ms"] or 0) * 1e6
        if steps:
            devices = len(copies["per_device"])
            assert abs(kind["copies_a_step"] * len(steps) * devices - kind["count"]) < 1e-6 * kind["count"] + 1e-6, kind
            assert abs(kind["bytes_a_step"] * len(steps) * devices - kind["bytes"]) < 1e-6 * kind["bytes"] + 1e-6, kind
    assert set(told) == set(wanted), f"{name}: told {sorted(told)}, wanted {sorted(wanted)}"
    kinds = {kind["kind"] for kind in copies["kinds"]}
    assert set(kinds_wanted) <= kinds, f"{name}: {sorted(kinds)}"
    for kind, want in wanted.items():
        tell = told[kind]
        for exact in ("count", "bytes"):
            assert tell[exact] == want[exact], f"{name}: {kind}: {exact} {tell[exact]}, not {want[exact]}"
        allowed = CLOCK_ERROR_NS * want["count"]
        assert abs(tell["ns"] - want["ns"]) <= allowed, f"{name}: {kind}: {tell['ns']} ns, not {want['ns']}"
        if kind != "memset":
            assert abs(tell["exposed"] - want["exposed"]) <= 2 * allowed, \
                f"{name}: {kind}: exposed {tell['exposed']} ns, not {want['exposed']}"
    for device in copies["per_device"]:
        for kind in device["kinds"]:
            whole = next(other for other in copies["kinds"] if other["kind"] == kind["kind"])
            assert kind["count"] <= whole["count"]
    for field in ("count", "bytes", "same", "same_bytes", "back", "back_bytes", "unhashed"):
        for whole in copies["kinds"]:
            parts = sum(kind[field] for device in copies["per_device"] for kind in device["kinds"]
                        if kind["kind"] == whole["kind"])
            assert parts == whole[field], f"{name}: {field} of {whole['kind']}: {parts} on all devices, {whole[field]}"
    print(f"{name}: {len(steps)} steps, {wanted}")
    return report


def main():
    with tempfile.TemporaryDirectory(prefix="gw-copies-") as temporary:
        work = pathlib.Path(temporary)
        report = check(work, "train_loop", [BUILD / "examples/train_loop"], ["h2d-pageable", "d2h-pageable"])
        check(work, "pinned", [BUILD / "examples/train_loop", "--pinned"], ["h2d-pinned", "d2h-pageable"])
        check(work, "copies", [BUILD / "programs/copies"],
              ["h2d-pageable", "d2h-pageable"])
        check(work, "peer", [BUILD / "programs/peer"], ["h2d-pinned", "d2h-pinned", "p2p"])
        # The same figures for people.
        upload = next(kind for kind in report["copies"]["kinds"] if kind["kind"] == "h2d-pageable")
        for option, mark in ((), "Copies, a step"), (("--md",), "### Copies, a step"):
            text = subprocess.run([BUILD / "bin/gpuwitness", "report", *option, work / "train_loop/run"], check=True,
                                  capture_output=True, text=True).stdout
            assert mark in text, text
            row = next(line for line in text.splitlines() if line.startswith(("  to the GPU, pageable", "| to the GPU, pageable")))
            size = f"{upload['bytes_a_step'] / 1e6:.2f} MB"
            assert size in row, f"{size} is not in {row}"


if __name__ == "__main__":
    os.umask(0o077)
    main()
