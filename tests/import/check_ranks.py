#!/usr/bin/env python3
"""Makes folders with a profiler's trace of each rank and asks what the report says of them:

    check_ranks.py GPUWITNESS SCRATCH_FOLDER

Three ranks with clocks that are milliseconds apart and count from different times, the same process number, as containers
have it, and the same correlation ids; rank 2 is late by 400 us a step."""
import json
import os
import shutil
import subprocess
import sys

RANKS, STEPS, LATE_US = 3, 30, 400
CLOCKS_US, BASES_US = (0, 5000, -3000), (0, 50000, -20000)
KERNEL_US, TRANSFER_US = 40, 90


class Rank:
    def __init__(self, number):
        self.number, self.now, self.gpu, self.correlation, self.events = number, 100000.0, 100000.0, 1, []

    def call(self, name, length):
        self.events.append({"ph": "X", "cat": "cuda_runtime", "name": name, "pid": 77, "tid": 77, "ts": self.now, "dur": length,
                            "args": {"correlation": self.correlation}})
        self.now += length

    def op(self, category, name, length, stream, **args):
        start = self.gpu = max(self.gpu, self.now + 3)
        self.events.append({"ph": "X", "cat": category, "name": name, "pid": self.number, "tid": stream, "ts": start, "dur": length,
                            "args": {"device": self.number, "stream": stream, "correlation": self.correlation, **args}})
        self.gpu += length
        self.correlation += 1
        return self.events[-1]


def traces():
    ranks = [Rank(number) for number in range(RANKS)]
    for _ in range(STEPS):
        reductions = []
        for rank in ranks:
            rank.now += LATE_US if rank.number == 2 else 0
            rank.call("cudaMemcpyAsync", 6)
            rank.op("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 50, 7, bytes=600000)
            for layer in range(10):
                rank.now += 3 + layer / 10
                rank.call("cudaLaunchKernel", 5)
                rank.op("kernel", f"layer_{layer % 5}", KERNEL_US, 7, grid=[64, 1, 1], block=[128, 1, 1])
            rank.call("cudaLaunchKernelExC", 6)
            reductions.append(rank.op("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", 0, 20, **{
                "Collective name": "allreduce", "In msg nelems": 2000000, "Out msg nelems": 2000000, "Group size": RANKS,
                "dtype": "Float", "Process Group Name": "0", "Process Group Ranks": "[0, 1, 2]"}))
        end = max(reduction["ts"] for reduction in reductions) + TRANSFER_US
        for rank, reduction in zip(ranks, reductions):
            reduction["dur"] = end - reduction["ts"]
            rank.call("cudaStreamSynchronize", end + 5 - rank.now)
            rank.correlation += 1
            rank.gpu = end
            rank.now += 20
    for rank in ranks:
        for event in rank.events:
            event["ts"] = round(event["ts"] + CLOCKS_US[rank.number] - BASES_US[rank.number], 3)
        yield {"distributedInfo": {"backend": "nccl", "rank": rank.number, "world_size": RANKS}, "deviceProperties": [
                   {"id": device, "name": f"GPU of {rank.number}"} for device in range(RANKS)],
               "baseTimeNanoseconds": 1700000000000000000 + BASES_US[rank.number] * 1000, "traceEvents": rank.events}


def folder(root, name, files):
    path = os.path.join(root, name)
    os.makedirs(path)
    for file_name, content in files.items():
        with open(os.path.join(path, file_name), "w") as file:
            json.dump(content, file)
    return path


def report(program, path):
    return json.loads(subprocess.run([program, "report", "--json", path], stdout=subprocess.PIPE, check=True).stdout)


def verdict_of(said, name):
    return next(verdict for verdict in said["verdicts"] if verdict["id"] == name)


def main():
    program, root = sys.argv[1:3]
    shutil.rmtree(root, ignore_errors=True)
    os.makedirs(root)
    whole = {f"host_{900 + i}.pt.trace.json": trace for i, trace in enumerate(traces())}
    names = list(whole)
    faults = []

    def want(what, found, wanted):
        if found != wanted:
            faults.append(f"{what}: {found}, wanted {wanted}")

    said = report(program, folder(root, "whole", whole))
    straggler = verdict_of(said, "straggler")
    want("straggler", straggler["verdict"], "confirmed")
    want("its saving", abs(straggler["saving_ms"] - LATE_US / 1000) < 0.04, True)
    want("who is late", "rank 2 is late, for 100 % of the time" in straggler["why"], True)
    want("clocks", [clock["how"] for clock in said["clocks"]], ["reference", "fitted", "fitted"])
    for clock, clock_us, base_us in zip(said["clocks"], CLOCKS_US, BASES_US):
        want("offset", abs(clock["offset_ns"] / 1000 - (base_us - clock_us)) < 1, True)
    want("devices", sorted(device["name"] for device in said["run"]["devices"]), [f"GPU of {i}" for i in range(RANKS)])
    want("problems", said["run"]["problems"], [])

    said = report(program, folder(root, "missing", {name: whole[name] for name in (names[0], names[2])}))
    want("straggler without a rank", verdict_of(said, "straggler")["verdict"], "unknown")
    want("problem", said["run"]["problems"], ["rank 1 of 3 is not in the run"])

    cut = dict(whole[names[1]], traceEvents=[e for e in whole[names[1]]["traceEvents"] if e["ts"] > 58000])
    said = report(program, folder(root, "uneven", whole | {names[1]: cut}))
    want("straggler with uneven traces", verdict_of(said, "straggler")["verdict"], "unknown")
    want("problem", [" ".join(line.split()[:5]) for line in said["run"]["problems"]],
         ["a rank's trace has 3"])

    nameless = {"traceEvents": whole[names[0]]["traceEvents"]}
    for name, files, words in (("twice", {"a.json": whole[names[0]], "b.json": whole[names[0]]}, "both of rank 0"),
                               ("nameless", {"a.json": nameless, "b.json": nameless}, "does not say which rank"),
                               ("foreign", whole | {"x.json": {"a": 1}}, "x.json: JSON without a list traceEvents")):
        done = subprocess.run([program, "report", folder(root, name, files)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        want(name, (done.returncode, done.stdout, done.stderr.count("\n"), words in done.stderr), (1, "", 1, True))

    bundle = os.path.join(root, "bundle.tar.zst")
    path = os.path.join(root, "whole")
    done = subprocess.run([program, "bundle", "-o", bundle, path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    want("bundle of a database", (done.returncode, "--with-trace" in done.stderr), (1, True))
    subprocess.run([program, "bundle", "--with-trace", "-o", bundle, path], stderr=subprocess.DEVNULL, check=True)
    want("bundle", verdict_of(report(program, bundle), "straggler"), straggler)
    for fault in faults:
        print(fault)
    print(f"{len(faults)} faults")
    return 1 if faults else 0


sys.exit(main())
