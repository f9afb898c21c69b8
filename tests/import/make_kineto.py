#!/usr/bin/env python3
"""Writes a small trace as the PyTorch profiler does, with everything its versions differ in:

    make_kineto.py STYLE OUT.json[.gz]

STYLE old: whole microseconds since 1970, no base time; new: fractions of microseconds and baseTimeNanoseconds. Both
hold: kernels of two streams, NCCL kernels, copies of each kind, a graph launch of several kernels, a driver call inside a
runtime call, a thread with a negative id, operations whose call was before the trace, escaped names, events of other
kinds. The numbers come from a fixed seed."""
import gzip
import json
import random
import sys

PID, MAIN, BACKWARD = 4711, 4711, -19360192
KERNELS = ["void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float> >(int, float*)",
           "ampere_sgemm_128x64_nn", 'void quoted<"\\ü\u2028">(int)',
           "ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)",
           "ncclDevKernel_Broadcast_RING_LL(ncclDevKernelArgsStorage<4096ul>)"]
COPIES = ["Memcpy HtoD (Pinned -> Device)", "Memcpy HtoD (Pageable -> Device)", "Memcpy DtoH (Device -> Pageable)",
          "Memcpy DtoD (Device -> Device)", "Memcpy PtoP (Device -> Device)"]


def main():
    style, path = sys.argv[1:3]
    dice = random.Random(7)
    base = 1661938466265032.0 if style == "old" else 4458676522690.655
    unit = 1.0 if style == "old" else 0.001

    def stamp(value):
        return int(value) if style == "old" else round(value, 3)

    def interval(begin, length):
        return {"ts": stamp(begin), "dur": stamp(max(0, round(length / unit)) * unit)}

    events, now, gpu, correlation = [], base, {7: base, 20: base}, 100
    for name, tid, label in (("process_name", 0, "python3"), ("thread_name", MAIN, "main"), ("thread_name", 7, "stream 7")):
        events.append({"name": name, "ph": "M", "ts": stamp(base), "pid": 1 if tid == 7 else PID, "tid": tid,
                       "args": {"name": label}})

    def op(category, name, stream, length, **args):
        begin = max(gpu[stream], now + dice.randint(2, 9))
        gpu[stream] = begin + length
        shape = {}
        if category == "kernel":
            shape = {"grid": [dice.randint(1, 99), 1, 1], "block": [128, 1, 1], "shared memory": 48}
        events.append({"ph": "X", "cat": category, "name": name, "pid": 1, "tid": stream, **interval(begin, length),
                       "args": {"External id": correlation, "device": 1, "context": 1, "stream": stream,
                                "correlation": correlation, **shape, **args}})

    def collective(which):
        elements = 1000 * (which + 1)
        kind = ("allreduce", "_allgather_base", "broadcast")[which % 3]
        return {"Collective name": kind, "In msg nelems": elements,
                "Out msg nelems": elements * (2 if kind == "_allgather_base" else 1), "Group size": 2,
                "dtype": ("Float", "BFloat16", "Long")[which % 3], "Process Group Name": str(which % 2)}

    def call(name, length, tid=MAIN, category="cuda_runtime"):
        nonlocal now
        events.append({"args": {"cbid": 1, "correlation": correlation}, "ph": "X", "cat": category, "name": name,
                       "pid": PID, "tid": tid, **interval(now, length)})
        now = stamp(now + length + dice.randint(0, 12))

    # what one step does: the same in every step, with times that vary
    plan = [(7, 0, MAIN), (7, 1, MAIN)]  # uploads at its top
    plan += [(dice.randint(0, 9), dice.randint(2, 4), dice.choice((MAIN, BACKWARD))) for _ in range(24)]
    op("kernel", KERNELS[0], 7, 30.25)  # enqueued before the trace began
    for step in range(12):
        begin = now
        for what, which, thread in plan:
            correlation += 1
            if what < 6:
                op("kernel", KERNELS[which % 3], 7, dice.randint(0, 40) + 0.5)
                call("cudaLaunchKernel", dice.randint(3, 8), thread)
            elif what == 6:
                op("kernel", KERNELS[3 + which % 2], 20, dice.randint(20, 90),
                   **(collective(which) if style == "new" else {}))
                events.append({"args": {"cbid": 1, "correlation": correlation}, "ph": "X", "cat": "cuda_driver",
                               "name": "cuLaunchKernelEx", "pid": PID, "tid": MAIN, **interval(now + 1, 2)})
                call("cudaLaunchKernelExC", 5)
            elif what == 7:
                op("gpu_memcpy", COPIES[which], 7, dice.randint(1, 50), bytes=(1 << 20) * (which + 1) ** 6)
                call("cudaMemcpyAsync", 6)
            elif what == 8:
                op("gpu_memset", "Memset (Device)", 7, 1, bytes=512)
                call("cudaMemsetAsync", 4)
            else:
                for node in range(3):
                    op("kernel", KERNELS[1], 7, 9, **{"graph node id": node})
                call("cudaGraphLaunch", 11)
        correlation += 1
        now = stamp(now + 60)
        call("cudaDeviceSynchronize", max(1, max(gpu.values()) - now))
        correlation += 1
        call("cudaFunctionOfTomorrow", 1)
        events.append({"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{step}", "pid": PID, "tid": MAIN,
                       **interval(begin, now - begin), "args": {}})
        events.append({"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": PID, "tid": MAIN, **interval(begin, 3),
                       "args": {"Input Dims": [[1, 2], []], "name": "not this one", "grid": [[1]], "stream": 99}})
        events.append({"ph": "s", "id": correlation, "pid": PID, "tid": MAIN, "ts": stamp(begin), "cat": "ac2g",
                       "name": "ac2g"})
    events.append({"ph": "X", "cat": "Trace", "ts": stamp(base), "dur": 9, "pid": "Spans", "tid": "Profiler",
                   "name": "PyTorch Profiler (0)", "args": {"Op count": 0}})
    dice.shuffle(events)
    trace = {"schemaVersion": 1,
             "deviceProperties": [{"id": i, "name": f"Device of rank {i}", "totalGlobalMem": 16 << 30, "computeMajor": 8,
                                   "computeMinor": 0, "numSms": 108} for i in range(2)],
             "distributedInfo": {"backend": "nccl", "rank": 1, "world_size": 2, "pg_config": [{"rank": 5, "ranks": [0, 1]}]},
             "traceEvents": events}
    if style == "new":
        trace["baseTimeNanoseconds"] = 1711964646000000000
    text = json.dumps(trace, indent=2 if style == "old" else None).encode()
    with (gzip.open if path.endswith(".gz") else open)(path, "wb") as file:
        file.write(text)


main()
