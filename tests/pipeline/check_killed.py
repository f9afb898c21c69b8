#!/usr/bin/env python3
"""A program that is killed leaves the times of all operations but the last ones, and of those the report says that they have none:

    check_killed.py BUILD

Killed when the simulated GPU has logged enough, with either backend."""
import csv
import glob
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

ENOUGH_BYTES = 2 << 20
LEAST_SHARE = 0.9
PATIENCE_S = 60


def wait_for_log(folder, recorder):
    """The program's pid, from its log's name, once that is long enough."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline and recorder.poll() is None:
        for path in glob.glob(f"{folder}/truth.*.csv"):
            if os.path.getsize(path) >= ENOUGH_BYTES:
                return int(path.split(".")[-2])
        time.sleep(0.01)
    raise SystemExit(f"check_killed: the program logged too little; the recorder: {recorder.poll()}")


def check(build, timing, folder):
    (folder / "sim.conf").write_text(f"truth {folder}/truth\n")
    recorder = subprocess.Popen([build / "bin" / "gpuwitness", "record", "-q", f"--gpu-timing={timing}", f"--simgpu={folder}/sim.conf", "-o",
                                 folder / "run", "--", build / "examples" / "train_loop", "--steps", "1000000"], stdout=subprocess.DEVNULL)
    os.kill(wait_for_log(folder, recorder), signal.SIGKILL)
    status = recorder.wait(PATIENCE_S)
    subprocess.run([build / "bin" / "gpuwitness", "export", "--format", "csv", "-o", folder / "csv", folder / "run"], check=True)
    report = json.loads(subprocess.run([build / "bin" / "gpuwitness", "report", "--json", folder / "run"], check=True, capture_output=True).stdout)
    with open(folder / "csv" / "ops.csv", newline="") as file:
        ops = list(csv.DictReader(file))
    untimed = sum(1 for op in ops if not op["start_ns"] or not op["end_ns"])
    told = report["coverage"]["untimed_operations"]
    print(f"{timing}: status {status}, {len(ops)} operations, {untimed} without times, {told} told")
    return status == 128 + signal.SIGKILL and untimed == told and untimed < (1 - LEAST_SHARE) * len(ops)


def main():
    build = pathlib.Path(sys.argv[1])
    fine = True
    for timing in ("cupti", "events"):
        with tempfile.TemporaryDirectory(prefix="gw-killed-") as folder:
            fine = check(build, timing, pathlib.Path(folder)) and fine
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
