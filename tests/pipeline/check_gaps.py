#!/usr/bin/env python3
"""check_gaps.py CSV-FOLDER
Classes every idle nanosecond of each device anew, from calls.csv and ops.csv alone and by the table of docs/budget.md, and compares
the outcome with gaps.csv. What the two tables do not hold is left open: whether a pause is host or blocked, a queued operation latency or
dependency. Idle time of a device with operations that have no times, before one whose call is not known and before two that start
together is not compared."""
import bisect
import collections
import csv
import re
import sys

CALLS = [  # the first that matches names the class of a gap during which the thread was in that call
    ("idle_sync", re.compile(r"Synchronize")),
    ("idle_compile", re.compile(r"Module|Library|cuLink")),
    ("idle_graph", re.compile(r"Capture|Graph(?!Launch)")),
    ("idle_copy_call", re.compile(r"[Mm]emcpy")),
    ("idle_alloc", re.compile(r"Malloc|MemAlloc|Free|HostAlloc|HostRegister|HostUnregister|MemCreate|MemMap|MemPool|MemRelease")),
    ("idle_api", re.compile(r"")),
]
MEANS = {"outside": {"idle_host", "idle_blocked"}, "queued": {"idle_latency", "idle_dependency"}}

Call = collections.namedtuple("Call", "begin end name thread")


def read(folder, name):
    with open(f"{folder}/{name}.csv", newline="") as file:
        return list(csv.DictReader(file))


def class_of_call(name):
    return next(kind for kind, pattern in CALLS if pattern.search(name))


def host_pieces(calls, begin, end):
    """What a thread with these outermost calls did in [begin, end)."""
    i = max(0, bisect.bisect_right(calls, begin, key=lambda call: call.begin) - 1)
    while begin < end:
        while i < len(calls) and calls[i].end <= begin:
            i += 1
        if i == len(calls) or calls[i].begin >= end:
            stop, kind = end, "outside"
        elif calls[i].begin > begin:
            stop, kind = calls[i].begin, "outside"
        else:
            stop, kind = min(calls[i].end, end), class_of_call(calls[i].name)
        yield begin, stop, kind
        begin = stop


def expected_gaps(operations, outermost, threads):
    """(begin, end, class) of every gap before an operation whose enqueue is known."""
    idle_from = None
    for operation, following in zip(operations, operations[1:] + [None]):
        begin, call = operation["begin"], outermost.get(operation["call_id"])
        together = following is not None and following["begin"] == begin  # which of them the device waited for is not told
        if idle_from is not None and begin > idle_from and call is not None and not together:
            if call.begin < idle_from:
                yield idle_from, begin, "queued"
            else:
                yield from host_pieces(threads[call.thread], idle_from, call.begin)
                yield call.begin, begin, "idle_launch"
        idle_from = max(operation["end"], idle_from or 0)


def compare(expected, gaps):
    """Nanoseconds compared, and those classed otherwise by (expected, found)."""
    compared, differing, first = 0, collections.Counter(), {}
    begins = [gap[0] for gap in gaps]
    for begin, end, kind in expected:
        i = max(0, bisect.bisect_right(begins, begin) - 1)
        while begin < end:
            while i < len(gaps) and gaps[i][1] <= begin:
                i += 1
            if i == len(gaps) or gaps[i][0] >= end:
                stop, found = end, "busy"
            elif gaps[i][0] > begin:
                stop, found = gaps[i][0], "busy"
            else:
                stop, found = min(end, gaps[i][1]), gaps[i][2]
            compared += stop - begin
            if found not in MEANS.get(kind, {kind}):
                differing[kind, found] += stop - begin
                first.setdefault((kind, found), begin)
            begin = stop
    return compared, differing, first


def main():
    folder = sys.argv[1]
    calls = [row for row in read(folder, "calls") if row["depth"] == "1" and row["end_ns"]]
    outermost, threads = {}, collections.defaultdict(list)
    for row in calls:
        call = Call(int(row["begin_ns"]), int(row["end_ns"]), row["name"], (row["process"], row["tid"]))
        outermost[row["call_id"]] = call
        threads[call.thread].append(call)
    for list_of_thread in threads.values():
        list_of_thread.sort()

    devices, untimed = collections.defaultdict(list), set()
    for row in read(folder, "ops"):
        device = row["process"], row["device"]
        if not row["start_ns"] or not row["end_ns"]:
            untimed.add(device)
            continue
        devices[device].append({"begin": int(row["start_ns"]), "end": int(row["end_ns"]), "call_id": row["call_id"]})
    gaps = collections.defaultdict(list)
    for row in read(folder, "gaps"):
        gaps[row["process"], row["device"]].append((int(row["begin_ns"]), int(row["end_ns"]), row["class"]))

    total, failed = 0, False
    for device, operations in sorted(devices.items()):
        if device in untimed:
            continue
        operations.sort(key=lambda operation: (operation["begin"], operation["end"]))
        compared, differing, first = compare(expected_gaps(operations, outermost, threads), sorted(gaps[device]))
        total += compared
        for (kind, found), length in differing.most_common():
            failed = True
            print(f"process {device[0]}, device {device[1]}: {length} ns are {kind} by the tables and {found} in gaps.csv, first at "
                  f"{first[kind, found]}")
    print(f"{total / 1e6:.3f} ms of idle time compared")
    sys.exit(failed)


main()
