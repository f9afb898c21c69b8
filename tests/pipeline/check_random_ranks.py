#!/usr/bin/env python3
"""check_random_ranks.py BUILD SEED RANKS STEPS

Records gw-random-ranks on the simulated GPU and compares collectives.csv with the plan the program printed and with the
truth log: every exchange is there, once a rank, in its communicator's order, with its operation and bytes; starts and
ends are the truth's; who waited for whom follows from them; bus bandwidth is that of the simulated GPU's model.
"""
import collections
import csv
import glob
import os
import subprocess
import sys
import tempfile

TIME_ERROR_NS = 1000
PRINTED_GBPS = 0.0005
LATENCY_NS, GBPS = 8000, 100.0
BUS_FACTOR = {
    "all_reduce": lambda n: 2 * (n - 1) / n,
    "all_gather": lambda n: (n - 1) / n,
    "reduce_scatter": lambda n: (n - 1) / n,
    "broadcast": lambda n: 1,
    "reduce": lambda n: 1,
}
MESSAGES = ("send", "recv")

build, seed, ranks, steps = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
problems = []


def differ(what):
    problems.append(what)


def read_truth(folder):
    """Start and end of every communication kernel, by device."""
    kernels = collections.defaultdict(list)
    for path in glob.glob(folder + "/truth.*.csv"):
        with open(path) as lines:
            for line in lines:
                field = line.strip().split(",")
                if field[0] == "op" and field[4].startswith("nccl"):
                    kernels[int(field[1])].append((int(field[7]), int(field[8])))
    return kernels


def near(kernels, start, end):
    return any(abs(s - start) <= TIME_ERROR_NS and abs(e - end) <= TIME_ERROR_NS for s, e in kernels)


def compare_communicator(comm, rows, plan):
    """One communicator's rows with what was planned of it."""
    collectives = collections.defaultdict(dict)
    for row in rows:
        if row["op"] not in MESSAGES:
            collectives[int(row["seq"])][int(row["rank"])] = row
    wanted = [(op, size) for op, size in plan if op != "send_recv"]
    found = [(of_rank[min(of_rank)]["op"], int(of_rank[min(of_rank)]["bytes"])) for _, of_rank in sorted(collectives.items())]
    if found != wanted:
        return False
    size = max(int(row["rank"]) for row in rows) + 1
    for seq, of_rank in collectives.items():
        if len(of_rank) != size:
            differ(f"{comm} {seq}: {len(of_rank)} of {size} ranks")
            continue
        last = max(int(row["start_ns"]) for row in of_rank.values())
        for row in of_rank.values():
            start, end, wait = int(row["start_ns"]), int(row["end_ns"]), int(row["arrival_wait_ns"])
            if abs(last - start - wait) > TIME_ERROR_NS or end < last:
                differ(f"{comm} {seq}: rank {row['rank']} waited {last - start} ns, not {wait}")
            bus_bytes = int(row["bytes"]) * BUS_FACTOR[row["op"]](size)
            model = bus_bytes / (LATENCY_NS + bus_bytes / GBPS)
            if abs(float(row["busbw_gbps"]) - model) > 0.01 * model + PRINTED_GBPS:
                differ(f"{comm} {seq}: {row['op']} of {row['bytes']} bytes at {row['busbw_gbps']} GB/s, not {model:.3f}")
    messages = collections.Counter((row["op"], row["rank"]) for row in rows if row["op"] in MESSAGES)
    for (op, rank), count in messages.items():
        if count != len(plan) - len(wanted):
            differ(f"{comm}: rank {rank} made {count} of {len(plan) - len(wanted)} {op}")
    return True


def main(folder):
    with open(folder + "/simgpu.conf", "w") as conf:
        conf.write(f"devices {ranks}\nnccl_latency_ns {LATENCY_NS}\nnccl_gbps {GBPS}\ntruth {folder}/truth\n")
    tool = build + "/bin/gpuwitness"
    out = subprocess.run([tool, "record", "-q", "--gpu-timing=cupti", "--simgpu=" + folder + "/simgpu.conf", "-o", folder + "/run",
                          "--", build + "/bin/gw-random-ranks", seed, str(ranks), steps],
                         check=True, stdout=subprocess.PIPE, text=True).stdout
    subprocess.run([tool, "export", "-o", folder + "/csv", folder + "/run"], check=True)
    plans = collections.defaultdict(list)
    for line in out.splitlines():
        place, _, op, size = line.split()
        plans[place].append((op, int(size)))
    truth = read_truth(folder)
    by_comm = collections.defaultdict(list)
    devices = collections.defaultdict(set)
    with open(folder + "/csv/collectives.csv") as lines:
        for row in csv.DictReader(lines):
            if not row["end_ns"]:
                differ(f"{row['comm']} {row['seq']} {row['op']} of rank {row['rank']}: no times")
                continue
            by_comm[row["comm"]].append(row)
            places = [d for d, kernels in truth.items() if near(kernels, int(row["start_ns"]), int(row["end_ns"]))]
            devices[row["comm"], row["rank"]].update(places)
            if not places:
                differ(f"{row['comm']} {row['seq']} {row['op']} of rank {row['rank']}: no such kernel in the truth {row['start_ns']} {row['end_ns']}")
    if len(by_comm) != len(plans):
        differ(f"{len(by_comm)} communicators, {len(plans)} planned")
    for comm, rows in by_comm.items():
        if not any(compare_communicator(comm, rows, plan) for plan in plans.values()):
            differ(f"{comm}: no communicator of the plan has its sequence")
    for what in problems[:12]:
        print("  " + what)
    print(f"{sum(map(len, by_comm.values()))} rows of {len(by_comm)} communicators, {len(problems)} differences")


with tempfile.TemporaryDirectory() as work:
    main(work)
sys.exit(bool(problems))
