"""nvtx_test.py BUILD_DIR PROGRAM OTHER_TOOL: what a program says through NVTX is in the recording, as ranges and as steps; the
program sees no difference; another tool for NVTX is left alone."""
import csv
import json
import os
import sqlite3
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "export"))
import perfetto_decode

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
    numbers = {"forward": 99, "number 0": -5000000000, "number 1": 0.375, "number 2": 4000000000, "number 3": -3, "number 4": -0.5}
    found = {event["name"]: (event["args"].get("category"), event["args"].get("payload")) for event in events if event["name"] in numbers}
    if found != {name: ("layers", number) for name, number in numbers.items()}:
        fail(f"categories and payloads of Chrome slices: {found}")

    run([gpuwitness, "export", "--format", "perfetto", "-o", work + "/run.pftrace", work + "/run"])
    with open(work + "/run.pftrace", "rb") as file:
        slices = perfetto_decode.Trace(file.read()).slices
    found = {s[3]: (s[7].get("category"), s[7].get("payload")) for s in slices if s[3] in numbers}
    if found != {name: ("layers", number) for name, number in numbers.items()}:
        fail(f"categories and payloads of Perfetto slices: {found}")

    run([gpuwitness, "export", "--format", "sqlite", "-o", work + "/run.sqlite", work + "/run"])
    columns = {"forward": "uint64Value", "number 0": "int64Value", "number 1": "doubleValue", "number 2": "uint32Value",
               "number 3": "int32Value", "number 4": "floatValue"}
    values = ", ".join(columns.values())
    # As people write it for Nsight Systems exports: a category's name stands in an event of its own.
    for *found, text, category in sqlite3.connect(work + "/run.sqlite").execute(
            f"SELECT {values}, e.text, (SELECT c.text FROM NVTX_EVENTS c WHERE c.eventType = 33 AND c.category = e.category "
            "AND c.domainId = e.domainId) FROM NVTX_EVENTS e WHERE eventType != 33"):
        wanted = [numbers[text] if columns.get(text) == column else None for column in columns.values()]
        if text in numbers and (found, category) != (wanted, "layers") or text == "epoch" and any(v is not None for v in found):
            fail(f"category and payload of {text} in the table: {found}, {category}")
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
