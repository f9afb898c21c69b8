#!/usr/bin/env python3
"""Makes databases in the schema of Nsight Systems' SQLite export and compares the model with what was put in:

    check_nsys.py GW_IMPORT_FACTS SCRATCH_FOLDER

One as current versions write it (two processes whose correlation ids collide, driver calls, graph traces, NVTX), and one of
an old version that lacks tables and columns."""
import os
import shutil
import sqlite3
import subprocess
import sys

NAMES = {1: "cudaLaunchKernel_v7000", 2: "cudaMemcpyAsync_v3020", 3: "cudaStreamSynchronize_v3020", 4: "cuMemcpyHtoD_v2",
         5: "cudaGraphLaunch_v10000", 6: "trainer", 7: "my_kernel(int)", 8: "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
         9: "epoch", 10: "cudaMemsetAsync_v3020", 11: "cuLaunchKernelEx", 12: "cudaLaunchKernelExC_v11060",
         13: "cudaThingOfTomorrow_v99000"}
KERNEL = ("start,end,deviceId,contextId,streamId,correlationId,globalPid,demangledName,shortName,gridX,gridY,gridZ,"
          "blockX,blockY,blockZ,staticSharedMemory,dynamicSharedMemory,graphNodeId")


def global_id(pid, tid=0):
    return 1 << 56 | pid << 24 | tid


def create(db, table, columns, rows):
    db.execute(f"CREATE TABLE {table} ({columns})")
    db.executemany(f"INSERT INTO {table} VALUES ({','.join('?' * len(columns.split(',')))})", rows)


def current(path):
    db = sqlite3.connect(path)
    create(db, "StringIds", "id,value", NAMES.items())
    create(db, "CUPTI_ACTIVITY_KIND_RUNTIME", "start,end,eventClass,globalTid,correlationId,nameId,returnValue", [
        (1000, 1500, 0, global_id(50, 51), 1, 1, 0), (2000, 2400, 0, global_id(50, 51), 2, 2, 0),
        (2500, 9000, 0, global_id(50, 51), 3, 3, 700), (9100, 9200, 1, global_id(50, 52), 4, 4, 0),
        (1000, 1300, 0, global_id(60, 61), 1, 10, 0), (9300, 9400, 0, global_id(50, 51), 5, 5, 0),
        (9500, 9600, 0, global_id(50, 51), 6, 12, 0), (9520, 9580, 1, global_id(50, 51), 6, 11, 0),
        (9700, 9710, 0, global_id(50, 51), 7, 13, 0), (9800, 9790, 0, global_id(50, 51), 8, 1, 0)])
    create(db, "CUPTI_ACTIVITY_KIND_KERNEL", KERNEL, [
        (1600, 2600, 0, 1, 7, 1, global_id(50), 7, 7, 4, 2, 1, 128, 1, 1, 16, 32, None),
        (9650, 9950, 0, 1, 13, 6, global_id(50), 8, 8, 1, 1, 1, 256, 1, 1, 0, 0, None),
        (100, 200, 0, 1, 7, 999, global_id(50), 7, 7, 1, 1, 1, 1, 1, 1, 0, 0, None)])
    create(db, "CUPTI_ACTIVITY_KIND_MEMCPY",
           "start,end,deviceId,contextId,streamId,correlationId,globalPid,bytes,copyKind,srcKind,dstKind,graphNodeId", [
               # memory kinds of an export: 0 pageable, 1 pinned, 2 device, 4 managed, 7 unknown
               (2700, 3000, 0, 1, 7, 2, global_id(50), 4096, 2, 2, 0, None),
               (9150, 9190, 0, 1, 7, 4, global_id(50), 1 << 33, 1, 1, 2, None),
               (9200, 9210, 0, 1, 7, 0, global_id(50), 64, 11, 4, 2, None)])
    create(db, "CUPTI_ACTIVITY_KIND_MEMSET", "start,end,deviceId,contextId,streamId,correlationId,globalPid,value,bytes", [
        (1400, 1500, 1, 1, 7, 1, global_id(60), 0, 64)])
    create(db, "CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
           "start,end,deviceId,graphId,graphExecId,contextId,streamId,correlationId,globalPid", [
               (9410, 9480, 0, 1, 2, 1, 7, 5, global_id(50))])
    create(db, "NVTX_EVENTS", "start,end,eventType,text,globalTid,textId", [
        (900, 9800, 59, None, global_id(50, 51), 9), (950, 2000, 60, "inner", global_id(50, 51), None),
        (960, None, 34, "mark", global_id(50, 51), None), (970, None, 59, "never ended", global_id(50, 51), None)])
    create(db, "ThreadNames", "nameId,priority,globalTid", [(6, 0, global_id(50, 51))])
    create(db, "PROCESSES", "globalPid,pid,name", [(global_id(50), 50, "python3")])
    create(db, "TARGET_INFO_GPU", "id,name,busLocation,totalMemory,smCount,computeMajor,computeMinor,uuid", [
        (0, "NVIDIA A100", "0000:01:00.0", 40 << 30, 108, 8, 0, "GPU-0"),
        (1, "NVIDIA H100", "0000:02:00.0", 80 << 30, 132, 9, 0, "GPU-1")])
    create(db, "TARGET_INFO_SESSION_START_TIME", "utcEpochNs,utcTime", [(1700000000000000000, "then")])
    db.commit()
    db.close()
    return {"faults 0", "calls 9", "ops 8", "untied 2", "realtime_offset_ns 1700000000000000000",
            "process 50 rank -1", "process 60 rank -1", "thread 51 calls 7 name trainer", "thread 52 calls 1 name ?",
            "call 1 1000 1500 cudaLaunchKernel depth 1", "call 4 9100 9200 cuMemcpyHtoD_v2 depth 1",
            "call 6 9500 9600 cudaLaunchKernelExC depth 1", "call 6 9520 9580 cuLaunchKernelEx depth 2",
            "op kernel 1600 2600 stream 7 bytes 0 call 1", "op comm 9650 9950 stream 13 bytes 0 call 6",
            "op kernel 100 200 stream 7 bytes 0 call none", "op d2h 2700 3000 stream 7 bytes 4096 call 2",
            f"op h2d 9150 9190 stream 7 bytes {1 << 33} call 4", "op h2d 9200 9210 stream 7 bytes 64 call none",
            "copy of call 2 from device to pageable", "copy of call 4 from pinned to device", "op memset 1400 1500 stream 7 bytes 64 call 1",
            "op graph 9410 9480 stream 7 bytes 0 call 5", "range 900 9800 51 epoch", "range 950 2000 51 inner",
            "device 0 name NVIDIA A100", "device 1 name NVIDIA H100", "device 0 kernel_ns 1170", "device 0 comm_ns 300",
            "device 1 memset_ns 100", "device 0 copy_ns 350", f"device 0 idle_ns {9950 - 100 - 1170 - 300 - 350}",
            "coverage 3 unknown function: 1 calls of cudaThingOfTomorrow_v99000, which this version does not know: taken as "
            "other calls",
            "coverage 3 damaged events: 1 events lack a field that their kind must have, or have no valid one, and were "
            "skipped"}


def old(path):
    db = sqlite3.connect(path)
    create(db, "StringIds", "id,value", NAMES.items())
    create(db, "CUPTI_ACTIVITY_KIND_RUNTIME", "start,end,globalTid,correlationId,nameId", [
        (1000, 1500, global_id(50, 51), 1, 1)])
    create(db, "CUPTI_ACTIVITY_KIND_KERNEL", "start,end,deviceId,streamId,correlationId,shortName", [
        (1600, 2600, 0, 7, 1, 7), (None, 2700, 0, 7, 1, 7)])
    db.commit()
    db.close()
    return {"calls 1", "ops 1", "untied 0", "op kernel 1600 2600 stream 7 bytes 0 call 1", "device 0 name ?",
            "coverage 3 CUPTI_ACTIVITY_KIND_MEMCPY: the export has no such table: nothing of this kind was recorded",
            "coverage 3 damaged events: 1 events lack a field that their kind must have, or have no valid one, and were "
            "skipped"}


def without_kernels(path):
    """Launches, and copies with times, but no table of kernels: nothing of the GPU may be told from that."""
    db = sqlite3.connect(path)
    create(db, "StringIds", "id,value", NAMES.items())
    create(db, "CUPTI_ACTIVITY_KIND_RUNTIME", "start,end,globalTid,correlationId,nameId", [
        (1000, 1500, global_id(50, 51), 1, 1), (1600, 3000, global_id(50, 51), 2, 2)])
    create(db, "CUPTI_ACTIVITY_KIND_MEMCPY", "start,end,deviceId,streamId,correlationId,bytes,copyKind,srcKind,dstKind", [
        (2700, 2900, 0, 7, 2, 4, 2, 2, 0)])
    db.commit()
    db.close()
    return {"calls 2", "ops 1", "op d2h 2700 2900 stream 7 bytes 4 call 2", "copy of call 2 from device to pageable",
            "coverage 3 CUPTI_ACTIVITY_KIND_KERNEL: the export has no such table: nothing of this kind was recorded",
            "coverage 3 CUPTI_ACTIVITY_KIND_MEMSET: the export has no such table: nothing of this kind was recorded",
            "coverage 3 kernels: 1 launches and not one kernel: when the GPU was busy cannot be told", "timed no"}


def main():
    program, folder = sys.argv[1:3]
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    faults = 0
    for name, make in (("current", current), ("old", old), ("without_kernels", without_kernels)):
        path = os.path.join(folder, name + ".sqlite")
        wanted = make(path)
        lines = subprocess.run([program, path], stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
        missing = wanted - set(lines)
        for line in sorted(missing):
            print(f"{name}: missing: {line}")
        if missing:
            print("\n".join(lines))
        unwanted = [line for line in lines if line.startswith(("op ", "range ")) and line not in wanted]
        for line in unwanted:
            print(f"{name}: unwanted: {line}")
        faults += len(missing) + len(unwanted)
        print(f"{name}: {len(wanted)} facts compared, {len(missing) + len(unwanted)} differ")
    return 1 if faults else 0


sys.exit(main())
