"""nvtx_test.py BUILD_DIR PROGRAM OTHER_TOOL: what a program says through NVTX is in the recording, as ranges and as steps; the
program sees no difference; another tool for NVTX is left alone."""
import csv
import json
import os
import sqlite3
import subprocess
import sys
import tempfile

build, program, other_tool = sys.argv[1:]
gpuwitness = build + "/bin/gpuwitness"


def fail(text):
    sys.exit("nvtx_test: " + text)


def run(command, **environment):
    return subprocess.run(command, env=dict(os.environ, **environment), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60)


def record(name, **environment):
    return run([gpuwitness, "record", "-q", f"--simgpu={work}/simgpu.conf", "-o", f"{work}/{name}", "--", program, f"{work}/{name}.truth"],
               **environment)


def check_same(a, b, what):
    if (a.returncode, a.stdout, a.stderr) != (b.returncode, b.stdout, b.stderr):
        fail(f"the program behaves differently {what}: {a} and {b}")


def check_ranges(truth, ranges, names_of_threads):
    left = list(ranges)
    for kind, name, *rest in truth:
        if kind == "thread":
            if names_of_threads.get(int(rest[0])) != name:
                fail(f"thread {rest[0]} is {name}, recorded {names_of_threads}")
            continue
        thread, bounds = int(rest[1]), [int(bound) for bound in rest[2:]]
        found = [r for r in left if (r["name"], r.get("domain") or "", r["tid"]) == (name, rest[0], thread) and bounds[0] <= r["begin_ns"] <= bounds[1]]
        if len(found) != 1 or not bounds[2] <= found[0]["end_ns"] <= bounds[3]:
            fail(f"{name} of thread {thread}, begun in {bounds[:2]} and ended in {bounds[2:]}: recorded {found}")
        left.remove(found[0])
    if left:
        fail(f"recorded, but not said: {left}")


with tempfile.TemporaryDirectory() as work:
    open(work + "/simgpu.conf", "w").close()
    simulated = {"LD_LIBRARY_PATH": build + "/simgpu", "SIMGPU_CONFIG": work + "/simgpu.conf"}
    alone = run([program, work + "/alone.truth"], **simulated)
    if alone.returncode != 0:
        fail(f"the program alone: {alone}")
    recorded = record("run")
    check_same(alone, recorded, "when it is recorded")
    lines = run([gpuwitness, "export", "--format", "jsonl", "-o", work + "/run.jsonl", work + "/run"])
    if lines.returncode != 0:
        fail(lines.stderr)
    with open(work + "/run.jsonl") as file:
        lines = [json.loads(line) for line in file]
    with open(work + "/run.truth") as file:
        truth = list(csv.reader(file))
    threads = {line["tid"]: line.get("name") for line in lines if line["type"] == "thread"}
    check_ranges(truth, [line for line in lines if line["type"] == "range"], threads)

    said = [(line["name"], line["category"], line["payload"]) for line in lines if line["type"] == "range" and line["payload"] is not None]
    if ("forward", "layers", 99) not in said:
        fail(f"category and payload of a range are not told: {said}")
    run([gpuwitness, "export", "--format", "chrome", "-o", work + "/run.json", work + "/run"])
    with open(work + "/run.json") as file:
        events = json.load(file)["traceEvents"]
    if not any(event["name"] == "thread_name" and event["args"]["name"].endswith(" copies") for event in events):
        fail("no lane has the stream's name")
    if not any(event["name"] == "process_name" and event["args"]["name"].endswith(": the first") for event in events):
        fail("no lane has the device's name")
    if not any(event["name"] == "forward" and event["args"].get("payload") == 99 for event in events):
        fail("no slice has the payload")

    run([gpuwitness, "export", "--format", "sqlite", "-o", work + "/run.sqlite", work + "/run"])
    rows = sqlite3.connect(work + "/run.sqlite").execute("SELECT text, eventType, category, color, (SELECT d.text FROM NVTX_EVENTS d "
                                                         "WHERE d.eventType = 75 AND d.domainId = e.domainId) FROM NVTX_EVENTS e").fetchall()
    for wanted in (("forward", 59, 7, 0xff112233, "model"), ("optimizer", 59, 7, 0xff112233, None), ("epoch", 60, None, None, None),
                   ("last batch", 34, None, None, None)):
        if wanted not in rows:
            fail(f"{wanted} is not in the exported table: {rows}")

    report = json.loads(run([gpuwitness, "report", "--json", "--step", "^step [0-9]+$", work + "/run"]).stdout)
    if (report["steps"]["method"], report["steps"]["count"]) != ("nvtx", 12):
        fail(f"steps by ranges: {report['steps']}")

    other = run([program, work + "/other.truth"], NVTX_INJECTION64_PATH=other_tool, **simulated)
    if "another tool saw ranges: yes" not in other.stdout:
        fail(f"the other tool alone: {other}")
    check_same(other, record("other", NVTX_INJECTION64_PATH=other_tool), "when another tool is there")
    text = run([gpuwitness, "report", work + "/other"]).stdout
    if "NVTX_INJECTION64_PATH leads to another tool" not in " ".join(text.split()):
        fail(f"the report does not say that another tool had the ranges: {text}")
    print(f"{len(truth)} ranges compared")
