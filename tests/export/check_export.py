#!/usr/bin/env python3
"""Records examples on the simulated GPU, exports each run in every format and reads it back:

    check_export.py GPUWITNESS EXAMPLES-DIRECTORY CONFIGURATION-OF-DDP-LOOP

The CSV tables say what must be in each of the others. Our own importers read the Chrome and SQLite files: same steps,
same budget. Nothing is asserted on how long anything takes."""
import collections
import csv
import decimal
import json
import os
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(__file__))
import perfetto_decode

FORMATS = ("perfetto", "chrome", "sqlite", "jsonl")
COPIES = {"h2d": ("HtoD", 1), "d2h": ("DtoH", 2), "d2d": ("DtoD", 8), "p2p": ("PtoP", 10)}


class Check:
    def __init__(self, gpuwitness, folder):
        self.gpuwitness, self.folder, self.faults = gpuwitness, folder, 0

    def expect(self, holds, what):
        if not holds:
            print("FAULT:", what)
            self.faults += 1

    def same(self, found, wanted, what, may_be_empty=False):
        found, wanted = collections.Counter(found), collections.Counter(wanted)
        missing, extra = wanted - found, found - wanted
        self.expect(wanted or may_be_empty, f"{what}: nothing to compare")
        self.expect(not missing and not extra, f"{what}: {sum(missing.values())} missing, e.g. {list(missing)[:2]}; "
                    f"{sum(extra.values())} unwanted, e.g. {list(extra)[:2]}")

    def run(self, *words, **environment):
        return subprocess.run([self.gpuwitness, *words], capture_output=True, text=True, check=False,
                              env={**os.environ, **environment})


def table(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def shown(ops):
    return [op for op in ops if op["start_ns"]]


def check_perfetto(check, path, tables):
    trace = perfetto_decode.Trace(path.read_bytes())
    tracks = trace.tracks
    by_category = collections.defaultdict(list)
    for entry in trace.slices:
        by_category[entry[4]].append(entry)
    check.expect(trace.primary_clock == 3 and set(trace.clocks) == {1, 3}, "perfetto: clocks")
    check.same([(tracks[s[0]]["thread"][2], s[3], s[1], s[2]) for s in by_category["cuda call"]],
               [(int(c["tid"]), c["name"], int(c["begin_ns"]), int(c["end_ns"])) for c in tables["calls"]],
               "perfetto: calls")
    check.same([(tracks[s[0]]["name"], s[1], s[2], s[7].get("bytes", 0)) for s in by_category["gpu"]],
               [(f"stream {o['stream']}", int(o["start_ns"]), int(o["end_ns"]), int(o["bytes"]))
                for o in shown(tables["ops"])], "perfetto: operations")
    check.same([(s[3].split()[1], s[1], s[2], "warm-up" in s[3]) for s in by_category["step"]],
               [(s["step"], int(s["begin_ns"]), int(s["end_ns"]), s["warmup"] == "1") for s in tables["steps"]],
               "perfetto: steps")
    check.same([(s[1], s[2]) for s in by_category["gpu idle"]],
               [(int(g["begin_ns"]), int(g["end_ns"])) for g in tables["gaps"]], "perfetto: idle time")
    # Arrows: from a call that begins before what it enqueued begins, and each ends once.
    starts = {flow: s for s in by_category["cuda call"] for flow in s[5]}
    ends = collections.Counter(flow for s in by_category["gpu"] for flow in s[6])
    check.expect(starts and set(starts) == set(ends) and set(ends.values()) == {1}, "perfetto: flows")
    late = sum(s[1] + s[7].get("error_ns", 0) < starts[f][1] for s in by_category["gpu"] for f in s[5] + s[6])
    check.expect(late <= len(starts) // 100, f"perfetto: {late} operations start before their call")
    # Streams below devices below the process, threads below it too.
    for uuid in {s[0] for s in by_category["gpu"]}:
        device = tracks[uuid]["parent"]
        check.expect(tracks[device]["name"].startswith("GPU ") and tracks[tracks[device]["parent"]]["process"],
                     "perfetto: a stream is not below a device of a process")
    for uuid in {s[0] for s in by_category["cuda call"]}:
        check.expect(tracks[tracks[uuid]["parent"]]["process"], "perfetto: a thread is not below its process")


def microseconds(ns):
    return decimal.Decimal(ns) / 1000


def check_chrome(check, path, tables):
    trace = json.loads(path.read_text(), parse_float=decimal.Decimal)
    events = collections.defaultdict(list)
    for event in trace["traceEvents"]:
        events[event.get("cat")].append(event)
    calls = events["cuda_runtime"] + events["cuda_driver"]
    check.same([(e["tid"], e["name"], e["ts"], e["dur"]) for e in calls],
               [(int(c["tid"]), c["name"], microseconds(c["begin_ns"]),
                 microseconds(int(c["end_ns"]) - int(c["begin_ns"]))) for c in tables["calls"]], "chrome: calls")
    kinds = {"kernel": "kernel", "graph": "kernel", "comm": "kernel", "memset": "gpu_memset"}
    check.same([(e["cat"], e["args"]["device"], e["args"]["stream"], e["ts"], e["dur"], e["args"].get("bytes", 0))
                for cat in ("kernel", "gpu_memcpy", "gpu_memset") for e in events[cat]],
               [(kinds.get(o["kind"], "gpu_memcpy"), int(o["device"]), int(o["stream"]), microseconds(o["start_ns"]),
                 microseconds(int(o["end_ns"]) - int(o["start_ns"])), int(o["bytes"])) for o in shown(tables["ops"])],
               "chrome: operations")
    known = {e["args"]["correlation"] for e in calls}
    check.expect(all(e["args"]["correlation"] in known for e in events["kernel"]), "chrome: kernels without a call")
    # An arrow from each call to each operation it enqueued: viewers join its two halves by their number.
    began = {}
    for e in sorted(calls, key=lambda e: e["ts"]): # a nested call has the number of the one it is nested in
        began.setdefault(e["args"]["correlation"], (e["tid"], e["ts"]))
    enqueued = [e for cat in ("kernel", "gpu_memcpy", "gpu_memset") for e in events[cat] if "correlation" in e["args"]]
    halves = {phase: [(e["id"], e["tid"], e["ts"]) for e in events["ac2g"] if e["ph"] == phase] for phase in "sf"}
    check.same(halves["f"], [(e["args"]["correlation"], e["tid"], e["ts"]) for e in enqueued], "chrome: ends of arrows")
    check.same([(number, began.get(number)) for number, _, _ in halves["s"]],
               [(number, (tid, ts)) for number, tid, ts in halves["s"]], "chrome: begins of arrows")
    check.same([h[0] for h in halves["s"]], [h[0] for h in halves["f"]], "chrome: arrows without an end")
    steps = [e for e in events["user_annotation"] if e["name"].startswith("ProfilerStep#")]
    check.same([(e["name"], e["ts"], e["args"]["warm-up"]) for e in steps],
               [(f"ProfilerStep#{s['step']}", microseconds(s["begin_ns"]), s["warmup"] == "1") for s in tables["steps"]], "chrome: steps")
    check.expect(trace["deviceProperties"][0]["totalGlobalMem"] > 0, "chrome: devices")


def check_sqlite(check, path, tables):
    with sqlite3.connect(path) as database:
        query = lambda sql: database.execute(sql).fetchall()
        # As people write it for Nsight Systems exports.
        check.same(query("SELECT globalTid & 0xffffff, value, start, end, returnValue FROM CUPTI_ACTIVITY_KIND_RUNTIME"
                         " JOIN StringIds ON id = nameId"),
                   [(int(c["tid"]), c["name"], int(c["begin_ns"]), int(c["end_ns"]), int(c["result"]))
                    for c in tables["calls"]], "sqlite: calls")
        check.same(query("SELECT mangled.value, k.deviceId, k.streamId, k.start, k.end FROM CUPTI_ACTIVITY_KIND_KERNEL k"
                         " JOIN StringIds mangled ON mangled.id = k.mangledName"
                         " JOIN CUPTI_ACTIVITY_KIND_RUNTIME r ON r.correlationId = k.correlationId"
                         " AND r.globalTid / 0x1000000 = k.globalPid / 0x1000000 AND r.eventClass = 0"),
                   [(o["name"], int(o["device"]), int(o["stream"]), int(o["start_ns"]), int(o["end_ns"]))
                    for o in shown(tables["ops"]) if o["kind"] in ("kernel", "comm")], "sqlite: kernels",
                   may_be_empty=True)
        check.same(query("SELECT copyKind, bytes, start, end FROM CUPTI_ACTIVITY_KIND_MEMCPY"),
                   [(COPIES[o["kind"]][1], int(o["bytes"]), int(o["start_ns"]), int(o["end_ns"]))
                    for o in shown(tables["ops"]) if o["kind"] in COPIES], "sqlite: copies",
                   may_be_empty=True)
        # Memory kinds of an Nsight Systems export: 0 pageable, 1 pinned, 2 device, 4 managed.
        check.expect(not query("SELECT * FROM CUPTI_ACTIVITY_KIND_MEMCPY WHERE copyKind IN (1, 2) AND NOT ("
                               "(copyKind = 1 AND srcKind IN (0, 1, 4) AND dstKind = 2) OR"
                               "(copyKind = 2 AND srcKind = 2 AND dstKind IN (0, 1, 4)))"), "sqlite: memory kinds")
        check.same(query("SELECT step, start, end, warmup FROM GPUWITNESS_STEPS"),
                   [tuple(int(s[c]) for c in ("step", "begin_ns", "end_ns", "warmup")) for s in tables["steps"]],
                   "sqlite: steps")
        check.same(query("SELECT class, start, end FROM GPUWITNESS_GAPS"),
                   [(g["class"], int(g["begin_ns"]), int(g["end_ns"])) for g in tables["gaps"]], "sqlite: idle time")
        begins = {(c["process"], c["call_id"]): int(c["begin_ns"]) for c in tables["calls"] if c["depth"] == "1"}
        check.same(query("SELECT g.class, g.start, r.start FROM GPUWITNESS_GAPS g JOIN CUPTI_ACTIVITY_KIND_RUNTIME r"
                         " ON r.correlationId = g.correlationId AND r.globalTid / 0x1000000 = g.globalPid / 0x1000000"
                         " GROUP BY g.rowid HAVING r.start = min(r.start)"),
                   [(g["class"], int(g["begin_ns"]), begins[g["process"], g["call_id"]]) for g in tables["gaps"] if g["call_id"]],
                   "sqlite: calls of idle time")
        check.expect(query("SELECT name FROM TARGET_INFO_GPU WHERE totalMemory > 0"), "sqlite: devices")
        graphs = sum(o["kind"] == "graph" for o in shown(tables["ops"]))
        check.expect(query("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_GRAPH_TRACE") == [(graphs,)], "sqlite: graphs")


def check_jsonl(check, path, tables):
    lines = collections.defaultdict(list)
    for line in path.read_text().splitlines():
        entry = json.loads(line)
        lines[entry["type"]].append(entry)
    text = lambda value: "" if value is None else str(int(value) if isinstance(value, bool) else value)
    for kind, name in (("call", "calls"), ("op", "ops"), ("step", "steps"), ("gap", "gaps"), ("compile", "compiles")):
        columns = [c for c in tables[name][0] if c != "name" or kind in ("call", "compile")]
        entries = [e for e in lines[kind] if e.get("kind") != "host"]
        check.same([tuple(text(e[c]) for c in columns) for e in entries],
                   [tuple(row[c] for c in columns) for row in tables[name]], f"jsonl: {name}")
    for cell in lines["budget"]:
        check.expect(any((s["process"], s["step"]) == (cell["process"], cell["step"]) for s in lines["step"]), "jsonl: a budget's step")
        check.expect(sum(cell["ns"].values()) == cell["end_ns"] - cell["begin_ns"], "jsonl: a budget's sum")
    check.expect(len(lines["run"]) == 1 and lines["device"] and lines["thread"] and lines["budget"], "jsonl: context")


# From collectives.csv's words to those of PyTorch.
PYTORCH = {"all_reduce": "allreduce", "all_gather": "allgather"}


def check_collectives(check, paths, tables):
    """All formats say of the same collectives what the table says."""
    rows = tables["collectives"]
    number = lambda text: int(text) if text else None
    columns = ("comm", "seq", "rank", "op", "bytes", "start_ns", "end_ns", "arrival_wait_ns")
    wanted = [tuple(number(r[c]) if c not in ("comm", "op") else r[c] for c in columns) for r in rows]
    check.expect(any(row[-1] for row in wanted), "no rank waits for another")
    with sqlite3.connect(paths["sqlite"]) as database:
        found = database.execute("SELECT comm, seq, rank, c.op, bytes, c.start, c.end, arrivalWait, busbwGbps, r.start"
                                 " FROM GPUWITNESS_COLLECTIVES c JOIN CUPTI_ACTIVITY_KIND_RUNTIME r"
                                 " ON r.correlationId = c.correlationId AND r.globalTid / 0x1000000 = c.globalPid / 0x1000000"
                                 " JOIN StringIds ON id = nameId WHERE value LIKE 'nccl%'").fetchall()
    check.same([row[:-2] for row in found], wanted, "sqlite: collectives")
    check.same([(row[-1], row[-2] is None) for row in found], [(int(r["enqueue_ns"]), not r["busbw_gbps"]) for r in rows],
               "sqlite: calls of collectives")
    lines = [json.loads(line) for line in paths["jsonl"].read_text().splitlines()]
    lines = [line for line in lines if line["type"] == "collective"]
    check.same([tuple(line[c] for c in columns) for line in lines], wanted, "jsonl: collectives")
    check.expect(all(abs((line["busbw_gbps"] or 0) - float(r["busbw_gbps"] or 0)) < 1e-3 for line, r in zip(lines, rows)),
                 "jsonl: bus bandwidth")
    check.expect(all((line["send"] is None) == (line["op"] == "recv") and (line["recv"] is None) == (line["op"] == "send")
                     for line in lines), "jsonl: buffers of collectives")
    # The first of a group stands for it in a timeline.
    firsts = {}
    for row in wanted:
        firsts.setdefault((row[0], row[2], *row[5:7]), row)
    trace = perfetto_decode.Trace(paths["perfetto"].read_bytes())
    slices = [s for s in trace.slices if s[4] == "collective"]
    whole = [s for s in slices if s[7]]
    check.same([(s[7]["communicator"].decode(), s[7]["sequence"], s[3], s[7]["bytes"], s[2]) for s in whole],
               [(r[0], r[1], r[3], r[4], r[6]) for r in firsts.values()], "perfetto: collectives")
    waits = [s[2] - s[1] for s in slices if s[3] == "waiting for other ranks"]
    check.expect(sum(waits) <= sum(r[7] or 0 for r in firsts.values()) and waits, "perfetto: waits")
    events = [e["args"] for e in json.loads(paths["chrome"].read_text())["traceEvents"]
              if "Collective name" in e.get("args", {})]
    check.same([(e["Process Group Name"], e["Seq"], e["Collective name"], e["Group size"],
                 max(e["In msg nelems"], e["Out msg nelems"]) * {"Float": 4}[e["dtype"]]) for e in events],
               [(r[0], r[1], PYTORCH[r[3]], 4, r[4]) for r in firsts.values()], "chrome: collectives")


def report(check, path):
    return json.loads(check.run("report", "--json", path).stdout)


def check_round_trip(check, run, path, what):
    """Steps, budget and what copies of pageable memory cost, of the imported file. What a format cannot say is known:
    whether a thread was on the CPU, and that a kernel waits for another stream's event, which the replay then infers."""
    ours, theirs = report(check, run), report(check, path)
    check.expect(theirs["steps"]["count"] == ours["steps"]["count"] and
                 abs(theirs["steps"]["median_ms"] - ours["steps"]["median_ms"]) < 1e-6,
                 f"{what}: steps {theirs['steps']} instead of {ours['steps']}")
    check.expect(all(d["simulated"] for r in (ours, theirs) for d in r["run"]["devices"]), f"{what}: not called simulated")
    merged = {"idle_blocked": "idle_host", "idle_dependency": "idle_latency"}
    sums = []
    for budget in (ours["budget_ms"], theirs["budget_ms"]):
        sums.append(collections.Counter())
        for name, ms in budget.items():
            sums[-1][merged.get(name, name)] += ms
    for name in set(sums[0]) | set(sums[1]):
        check.expect(abs(sums[0][name] - sums[1][name]) < 2e-6, f"{what}: {name} is {sums[1][name]} instead of {sums[0][name]}")
    savings = [next(v["saving_ms"] for v in r["verdicts"] if v["id"] == "pageable-copy") or 0 for r in (ours, theirs)]
    check.expect(abs(savings[0] - savings[1]) <= 0.1 * savings[0], f"{what}: pageable-copy saves {savings[1]} instead of {savings[0]} ms")


def check_results(check, programs):
    """Failed calls look so in every format."""
    run, csv_folder = check.folder / "errors", check.folder / "errors.csv"
    check.run("record", "-q", "--simgpu", "-o", run, "--", programs / "errors")
    for kind in ("csv", "chrome", "sqlite", "jsonl"):
        check.run("export", "--format", kind, "-o", check.folder / f"errors.{kind}", run)
    wanted = [(c["name"], int(c["result"])) for c in table(csv_folder / "calls.csv")]
    check.expect(any(result for _, result in wanted), "no call fails")
    events = json.loads((check.folder / "errors.chrome").read_text())["traceEvents"]
    check.same([(e["name"], e["args"].get("result", 0)) for e in events if e.get("cat", "").startswith("cuda_")], wanted, "chrome: results")
    lines = map(json.loads, (check.folder / "errors.jsonl").read_text().splitlines())
    check.same([(line["name"], line["result"]) for line in lines if line["type"] == "call"], wanted, "jsonl: results")
    with sqlite3.connect(check.folder / "errors.sqlite") as database:
        check.same(database.execute("SELECT value, returnValue FROM CUPTI_ACTIVITY_KIND_RUNTIME JOIN StringIds ON id = nameId").fetchall(),
                   wanted, "sqlite: results")


def check_ranks(check, program):
    """Ranks in processes and in threads, read back from a trace that holds all of them: each process has its rank, and
    each collective its communicator's rank, its times and the wait for the others."""
    for place, processes in (("processes", 3), ("threads", 1)):
        run, path = check.folder / place, check.folder / f"{place}.chrome"
        (check.folder / "three.conf").write_text("devices 3\nnccl_gbps 4\n")
        check.run("record", "-q", f"--simgpu={check.folder / 'three.conf'}", "-o", run, "--", program,
                  SCENARIO_RANKS="3", SCENARIO_PLACE=place)
        check.run("export", "--format", "chrome", "-o", path, run)
        ours, theirs = report(check, run), report(check, path)
        ranks = [sorted(p["rank"] for p in r["run"]["processes"] if p["rank"] is not None) for r in (ours, theirs)]
        check.same(ranks[1], ranks[0], f"{place}: ranks of processes read back", may_be_empty=True)
        check.expect(len(ranks[0]) == (3 if processes == 3 else 0), f"{place}: ranks {ranks[0]}")
        tables = []
        for source in (run, path):
            folder = check.folder / f"{source.name}.tables"
            check.run("export", "-o", folder, source)
            tables.append([tuple(r[c] for c in ("seq", "rank", "op", "bytes", "start_ns", "end_ns", "arrival_wait_ns", "busbw_gbps"))
                           for r in table(folder / "collectives.csv")])
        check.expect({r[1] for r in tables[0]} == {"0", "1", "2"} and any(int(r[6] or 0) > 0 for r in tables[0]),
                     f"{place}: ranks and waits in {tables[0][:3]}")
        check.same(tables[1], tables[0], f"{place}: collectives read back")
        waits = [r["budget_ms"]["comm_wait"] for r in (ours, theirs)]
        check.expect(abs(waits[0] - waits[1]) < 2e-6, f"{place}: comm_wait {waits}")


def check_processes(check, program):
    """Each of two processes that use the GPU of the same number has its lanes for itself."""
    run, path = check.folder / "two", check.folder / "two.chrome"
    check.run("record", "-q", "--simgpu", "-o", run, "--", "sh", "-c", '"$0" & "$0"; wait', program)
    check.run("export", "--format", "chrome", "-o", path, run)
    check.run("export", "-o", check.folder / "two.csv", run)
    wanted = collections.Counter(op["process"] for op in shown(table(check.folder / "two.csv/ops.csv")) if op["kind"] == "kernel")
    found = collections.Counter(e["pid"] for e in json.loads(path.read_text())["traceEvents"] if e.get("cat") == "kernel")
    check.expect(len(wanted) == 2 and sorted(found.values()) == sorted(wanted.values()), f"chrome: kernels by GPU {found}, of processes {wanted}")


def check_failures(check, run):
    for kind in FORMATS:
        for target, reason in (("/dev/full", "No space left on device"),
                               (check.folder / "missing" / "file", "No such file or directory")):
            if kind == "sqlite" and target == "/dev/full":
                continue  # a database needs a regular file
            result = check.run("export", "--format", kind, "-o", target, run)
            check.expect(result.returncode == 1 and result.stderr.count("\n") == 1 and reason in result.stderr,
                         f"{kind} to {target}: {result.returncode} {result.stderr!r}")
    # A file that may not grow: nothing is left of it, and what it was to replace is as it was.
    def contents(path):
        return {p.name: p.read_bytes() for p in path.iterdir()}

    limited = check.folder / "limited"
    for kind in ("csv", *FORMATS):
        limited.mkdir()
        target = limited if kind == "csv" else limited / f"file.{kind}"
        for name in ("calls.csv", f"file.{kind}"):
            (limited / name).write_text("before")
        before = contents(limited)
        result = subprocess.run(["sh", "-c", 'ulimit -f 8; trap "" XFSZ; exec "$@"', "sh", check.gpuwitness, "export",
                                 "--format", kind, "-o", target, run], capture_output=True, text=True, check=False)
        check.expect(result.returncode == 1 and result.stderr.count("\n") == 1 and contents(limited) == before,
                     f"{kind} beyond the file size limit: {result.returncode} {result.stderr!r} {list(contents(limited))}")
        shutil.rmtree(limited)
    link, real = check.folder / "link.jsonl", check.folder / "real.jsonl"
    real.write_text("before")
    link.symlink_to(real)
    check.run("export", "--format", "jsonl", "-o", link, run)
    check.expect(link.is_symlink() and real.stat().st_size > 1000, "a link to the file is not followed")
    appended = subprocess.run(["sh", "-c", 'echo first; exec "$@"', "sh", check.gpuwitness, "export", "--format", "jsonl", "-o",
                               "/dev/stdout", run], stdout=open(check.folder / "appended", "w", encoding="utf-8"), check=False)
    check.expect(appended.returncode == 0 and (check.folder / "appended").read_text().startswith("first\n{"),
                 "/dev/stdout is not written behind what is there")
    for kind in ("csv", *FORMATS):
        piped = subprocess.run([check.gpuwitness, "export", "--format", kind, "-o", "-", run], capture_output=True, cwd=check.folder, check=False)
        if kind in ("csv", "sqlite"):
            check.expect(piped.returncode == 2 and piped.stderr.count(b"\n") == 1, f"{kind} to the standard output: {piped.stderr}")
        else:
            check.run("export", "--format", kind, "-o", check.folder / "named", run)
            check.expect(piped.returncode == 0 and piped.stdout == (check.folder / "named").read_bytes(),
                         f"{kind} to the standard output: {piped.stderr}")
    check.expect(not (check.folder / "-").exists(), "a file named -")
    result = check.run("export", "--format", "perfeto", "-o", "x", run)
    check.expect(result.returncode == 2 and "perfetto" in result.stderr, "a misspelt format")


def main():
    gpuwitness, examples = sys.argv[1], pathlib.Path(sys.argv[2])
    with tempfile.TemporaryDirectory(prefix="gw-export-") as name:
        check = Check(gpuwitness, pathlib.Path(name))
        for program, options, simulated in (("ddp_loop", ("--ranks", "4", "--straggler", "2"), "--simgpu=" + sys.argv[3]),
                                            ("train_loop", (), "--simgpu"), ("graph_loop", (), "--simgpu")):
            run = check.folder / program
            recorded = check.run("record", "-q", simulated, "-o", run, "--", examples / program, *options)
            check.expect(recorded.returncode == 0, recorded.stderr)
            check.run("export", "-o", check.folder / "csv", run)
            tables = {t: table(check.folder / "csv" / f"{t}.csv") for t in ("calls", "ops", "steps", "gaps", "collectives", "compiles")}
            for kind in FORMATS:
                path = check.folder / f"{program}.{kind}"
                path.write_text("replaced")
                result = check.run("export", "--format", kind, "-o", path, run)
                check.expect(result.returncode == 0 and not result.stderr, f"{kind}: {result.stderr}")
                globals()[f"check_{kind}"](check, path, tables)
            if tables["collectives"]:
                check_collectives(check, {kind: check.folder / f"{program}.{kind}" for kind in FORMATS}, tables)
            else:  # ranks: check_ranks
                for kind in ("chrome", "sqlite"):
                    check_round_trip(check, run, check.folder / f"{program}.{kind}", f"{program}, {kind} read back")
            print(f"{program}: {len(tables['calls'])} calls, {len(tables['ops'])} operations, "
                  f"{len(tables['steps'])} steps, {len(tables['gaps'])} gaps compared in {len(FORMATS)} formats")
        check_results(check, examples.parent / "programs")
        check_processes(check, examples / "train_loop")
        check_ranks(check, examples.parent / "scenarios" / "late_rank")
        check_failures(check, run)
    return 1 if check.faults else 0


sys.exit(main())
