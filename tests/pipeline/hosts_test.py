#!/usr/bin/env python3
"""hosts_test.py GPUWITNESS PROGRAM: two ranks recorded apart, as on two hosts whose clocks differ, whose runs are then copied
into one directory. The clocks must be fitted to within 20 us of what was injected, at the begin and at the end, and who
waited for whom must be what the simulated GPU logged, to within 20 us too, also of collectives in graphs. Where namespaces may be
made each rank has a host name, a network and a boot id of its own. A rank that is killed must leave a report of the other that
says so."""
import csv
import glob
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

GPUWITNESS, PROGRAM = sys.argv[1:3]
ERROR_NS = 20_000
OFFSET_NS, PPM = 5_000_000_000, 40.0
STEPS = 150
NAMESPACES = ["unshare", "-mnu"] if os.geteuid() == 0 else ["unshare", "-Umnru"]
ANOTHER_HOST = """hostname "$1" && mount --bind "$2" /proc/sys/kernel/random/boot_id && shift 2 && exec "$@" """


def fail(line):
    sys.exit(f"hosts_test: {line}")


def on_host(folder, name):
    """What makes a program run on a host of its own, as far as it can tell."""
    boot = folder / f"boot-{name}"
    boot.write_text(f"{name:0>8}-0000-4000-8000-000000000000\n")
    return [*NAMESPACES, "sh", "-c", ANOTHER_HOST, "sh", name, boot]


def can_be_another_host(folder):
    return subprocess.run([*on_host(folder, "c"), "true"], capture_output=True, check=False).returncode == 0


def record(folder, rank, offset, arguments, host):
    """Starts one rank under a recorder of its own, with a truth log."""
    config = folder / f"rank{rank}.conf"
    config.write_text(f"devices 2\ntruth {folder}/truth{rank}\nnccl_gbps 2\n")
    environment = dict(os.environ, RANK=str(rank), WORLD_SIZE="2")
    return subprocess.Popen(
        [*host, GPUWITNESS, "record", "-q", f"--simgpu={config}", "-o", folder / f"run{rank}", *offset, "--", PROGRAM, folder,
         *map(str, arguments)], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def run_both(folder, offset, arguments, hosts=([], [])):
    os.mkfifo(folder / "1")
    ranks = [record(folder, 0, [], arguments, hosts[0]), record(folder, 1, offset, arguments, hosts[1])]
    results = [rank.communicate(timeout=60) for rank in ranks]
    for part in (folder / "run1").glob("rank-*"):
        shutil.copytree(part, folder / "run0" / part.name)
    return folder / "run0", [rank.returncode for rank in ranks], results


def report(run):
    result = subprocess.run([GPUWITNESS, "report", "--json", run], capture_output=True, text=True, check=False)
    if result.returncode:
        fail(f"report ended with {result.returncode}: {result.stderr.strip()}")
    return json.loads(result.stdout)


def starts_and_ends(folder, rank):
    """Of each collective of the rank, as the simulated GPU logged it; and when its log begins."""
    path, = glob.glob(f"{folder}/truth{rank}.*.csv")
    with open(path, newline="", encoding="utf-8") as file:
        rows = [row for row in csv.reader(file)]
    found = sorted((int(row[7]), int(row[8])) for row in rows if row[0] == "op" and "AllReduce" in row[4])
    if len(found) != STEPS:
        fail(f"{path} has {len(found)} collectives, not {STEPS}")
    return found


def check_fit(clocks, run, truth):
    if len(clocks) != 2 or clocks[0]["how"] != "reference" or clocks[1]["how"] != "fitted":
        fail(f"clocks: {clocks}")
    if clocks[1]["matched"] != STEPS:
        fail(f"{clocks[1]['matched']} of {STEPS} collectives are matched")
    part, = [p for p in run.glob("rank-*") if json.loads((p / "run.json").read_text()).get("clock_offset")]
    begin = json.loads((part / "run.json").read_text())["start"]["monotonic_ns"]
    worst = 0
    for _, end in truth[1]:
        shown = end + OFFSET_NS + PPM / 1e6 * (end - begin)
        fitted = shown + clocks[1]["offset_ns"] + clocks[1]["drift_ppm"] / 1e6 * (shown - clocks[1]["about_ns"])
        worst = max(worst, abs(fitted - end))
    print(f"clock fitted to within {worst / 1e3:.1f} us, residual {clocks[1]['residual_ns']} ns, "
          f"drift {clocks[1]['drift_ppm']:.2f} ppm")
    if worst > ERROR_NS or clocks[1]["residual_ns"] > ERROR_NS:
        fail("the fitted clock is off by more than 20 us")


def check_waits(run, folder, truth):
    subprocess.run([GPUWITNESS, "export", "--format", "csv", "-o", folder / "csv", run], check=True)
    with open(folder / "csv" / "collectives.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    if len(rows) != 2 * STEPS:
        fail(f"{len(rows)} rows of collectives, not {2 * STEPS}")
    worst = 0
    for row in rows:
        both = [truth[rank][int(row["seq"])] for rank in (0, 1)]
        start, end = both[int(row["rank"])]
        last = max(s for s, _ in both)
        if not row["arrival_wait_ns"]:
            fail(f"no arrival: {row}")
        wait = int(row["arrival_wait_ns"])
        transfer = int(row["end_ns"]) - int(row["start_ns"]) - wait
        worst = max(worst, abs(wait - (last - start)), abs(transfer - (end - last)))
    print(f"waits and transfers of {len(rows)} to within {worst / 1e3:.1f} us")
    if worst > ERROR_NS:
        fail("a wait or transfer is off by more than 20 us")


def check_buffers(run, folder):
    """All ranks reduce in place, in the same memory each time."""
    subprocess.run([GPUWITNESS, "export", "--format", "jsonl", "-o", folder / "jsonl", run], check=True)
    lines = [json.loads(line) for line in (folder / "jsonl").read_text().splitlines()]
    lines = [line for line in lines if line["type"] == "collective"]
    if not all(line["send"] and line["send"] == line["recv"] for line in lines):
        fail("a reduction is not in place")
    if len({(line["rank"], line["send"]) for line in lines}) != 2:
        fail("a rank reduces in several buffers")


def two_hosts(folder):
    named = can_be_another_host(folder)
    hosts = [on_host(folder, name) for name in "ab"] if named else ([], [])
    run, statuses, results = run_both(folder, [f"--clock-offset={OFFSET_NS},{PPM}"], [STEPS], hosts)
    if statuses != [0, 0]:
        fail(f"the ranks ended with {statuses}: {results}")
    truth = [starts_and_ends(folder, rank) for rank in (0, 1)]
    clocks = report(run)["clocks"]
    if named and [clock["host"] for clock in clocks] != ["a", "b"]:
        fail(f"hosts: {clocks}")
    check_fit(clocks, run, truth)
    check_waits(run, folder, truth)
    check_buffers(run, folder)


def one_host(folder):
    run, statuses, results = run_both(folder, [], [STEPS])
    if statuses != [0, 0]:
        fail(f"the ranks ended with {statuses}: {results}")
    clocks = report(run)["clocks"]
    if len(clocks) != 1 or clocks[0]["matched"] != STEPS or clocks[0]["residual_ns"] > ERROR_NS:
        fail(f"clocks of one host: {clocks}")
    check_waits(run, folder, [starts_and_ends(folder, rank) for rank in (0, 1)])


def captured(folder):
    """The collective is captured once: each launch of the graph is one more."""
    run, statuses, results = run_both(folder, [], [STEPS, "graph"])
    if statuses != [0, 0]:
        fail(f"the ranks ended with {statuses}: {results}")
    check_waits(run, folder, [starts_and_ends(folder, rank) for rank in (0, 1)])


def killed_rank(folder):
    run, statuses, _ = run_both(folder, [], [STEPS, 100])
    if statuses[1] != 128 + 9 or statuses[0] == 0:
        fail(f"the ranks ended with {statuses}")
    found = report(run)
    said = "\n".join(found["run"]["problems"])
    if "rank 1" not in said or "signal 9" not in said:
        fail(f"the report does not say that rank 1 was killed: {said!r}")
    matched = sum(c["matched"] for c in found["communication"]["collectives"])
    if matched < 2 * 90:
        fail(f"only {matched} collectives are left")
    print("killed rank:", said)


for case in (two_hosts, one_host, captured, killed_rank):
    with tempfile.TemporaryDirectory(prefix="gw-hosts-") as name:
        case(pathlib.Path(name))
