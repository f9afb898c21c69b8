"""early_calls_test.py BUILD_DIR PROGRAM SLOW_LOADER RUNTIME: calls made while the tracer is still being loaded are recorded
with their begin and depth when the tracer is there at their end, and counted when it is not."""
import csv
import glob
import json
import os
import subprocess
import sys
import tempfile

build, program, slow_loader, runtime = sys.argv[1:]
gpuwitness = build + "/bin/gpuwitness"


def fail(text):
    sys.exit("early_calls_test: " + text)


with tempfile.TemporaryDirectory() as work:
    with open(work + "/simgpu.conf", "w") as config:
        config.write(f"truth {work}/truth\n")
    recorded = subprocess.run([gpuwitness, "record", "-q", f"--simgpu={work}/simgpu.conf", "--gpu-timing=off", "-o", work + "/run", "--",
                               program, runtime], env=dict(os.environ, LD_PRELOAD=slow_loader), stdout=subprocess.PIPE, text=True, timeout=60)
    if recorded.returncode != 0:
        fail(f"the program ended with status {recorded.returncode}")
    missed = int(recorded.stdout)
    subprocess.run([gpuwitness, "export", "--format", "csv", "-o", work + "/tables", work + "/run"], check=True)
    with open(work + "/tables/calls.csv") as file:
        calls = list(csv.DictReader(file))
    with open(glob.glob(work + "/truth.*.csv")[0]) as file:
        truth = [line.split(",") for line in file if line.startswith("call,")]
    arrived = [row for row in truth if row[1] != "tid"]

    names = [call["name"] for call in calls if call["name"].startswith("cu") and not call["name"].startswith("cuda")]
    of_truth = [row[3] for row in arrived]
    for _ in range(missed):
        of_truth.remove("cuDeviceGetCount")
    if sorted(names) != sorted(of_truth):
        fail(f"recorded {sorted(names)}, arrived {sorted(of_truth)}")

    allocations = [call for call in calls if call["name"] == "cudaMalloc"]
    if [call["depth"] for call in allocations] != ["1", "1"]:
        fail(f"cudaMalloc was recorded as {allocations}")
    early, usual = sorted(allocations, key=lambda call: int(call["begin_ns"]))
    for allocation, wanted in ((early, ["cuDevicePrimaryCtxRetain", "cuCtxSetCurrent", "cuMemAlloc_v2"]), (usual, ["cuMemAlloc_v2"])):
        nested = [call for call in calls if call["call_id"] == allocation["call_id"] and call is not allocation]
        if [call["name"] for call in nested] != wanted or {call["depth"] for call in nested} != {"2"}:
            fail(f"nested in cudaMalloc: {nested}")
        if any(not int(allocation["begin_ns"]) <= int(call["begin_ns"]) <= int(call["end_ns"]) <= int(allocation["end_ns"]) for call in nested):
            fail(f"{nested} do not lie within {allocation}")
    # The early one was entered before the tracer was loaded, so before the call that loaded it reached the driver.
    initialised = next(int(row[4]) for row in arrived if row[3] == "cuInit")
    if int(early["begin_ns"]) >= initialised:
        fail("the early call's begin is not its own")
    report = subprocess.run([gpuwitness, "report", "--json", work + "/run"], stdout=subprocess.PIPE, text=True, check=True).stdout
    coverage = json.loads(report)["coverage"]
    if coverage["missed_calls"] != missed:
        fail(f"{missed} calls were missed, the coverage says {coverage}")
    print(f"{len(calls)} calls recorded, {missed} counted as missed")
