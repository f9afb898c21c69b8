#!/usr/bin/env python3
"""check_compiles.py BUILD: compilers that a program executes, by posix_spawn, fork and exec, system and popen, against
what the program itself says of them; loads of modules against the calls of the trace; and the forms that tell them."""
import collections
import csv
import json
import os
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import tempfile

BUILD = pathlib.Path(sys.argv[1])


def tool(*words, **options):
    return subprocess.run([BUILD / "bin/gpuwitness", *words], check=True, capture_output=True, text=True, **options).stdout


def rows(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def check_children(work):
    run, told = work / "run", work / "told"
    program = BUILD / "scenarios/executed_compiler"
    tool("record", "-q", "--gpu-timing=cupti", "--simgpu", "-o", run, "--", program,
         env=dict(os.environ, EXECUTED_COMPILER=str(told)))
    executed = [tuple(map(int, line.split())) for line in told.read_text(encoding="utf-8").splitlines()]
    report = json.loads(tool("report", "--json", run))
    compilation = report["compilation"]
    assert compilation["compilers_watched"]
    children = [item for item in compilation["list"] if item["kind"] == "child"]
    assert [child["name"] for child in children] == ["ptxas"] * len(executed), children
    assert len({child["pid"] for child in children}) == len(children)
    hashes, late_ns = [], 0
    for (step, begin_ns, end_ns), child in zip(executed, children):
        # Where a shell stands between, the compiler begins later. Its end is seen when the recorder wakes up.
        assert begin_ns <= child["t_ns"] < end_ns and child["dur_ns"] > 0, (begin_ns, end_ns, child)
        late_ns = max(late_ns, child["t_ns"] + child["dur_ns"] - end_ns)
        assert child["bytes"] and child["hash"] and child["process"] == 0 and child["thread"], child
        assert 0 < round(child["held_ms"] * 1e6) <= child["dur_ns"], child
        assert child["new"] == (child["hash"] not in hashes), child
        hashes.append(child["hash"])
    assert len(set(hashes)) == (len(hashes) + 1) // 2, hashes
    print(f"{len(children)} compilers; the latest end seen {late_ns / 1e6:.3f} ms after the program saw it")
    steps = rows_of_steps(work, run)
    for child in children:
        inside = [step for step, begin_ns, end_ns in steps if begin_ns <= child["t_ns"] < end_ns]
        assert child["step"] == (inside[0] if inside else None), (child, inside)
    ptxas = next(kind for kind in compilation["kinds"] if kind["name"] == "ptxas")
    assert sum(ptxas[phase]["count"] for phase in ("cold", "steady", "elsewhere")) == len(executed), ptxas
    steady = [child for child in children if child["phase"] == "steady"]
    assert ptxas["steady"]["count"] == len(steady) > ptxas["steady"]["new"] == sum(child["new"] for child in steady) > 0, ptxas
    verdict = next(verdict for verdict in report["verdicts"] if verdict["id"] == "recompile")
    assert verdict["verdict"] == "confirmed" and "ptxas" in verdict["why"], verdict
    assert any("while ptxas" in piece["what"] for piece in verdict["evidence"]), verdict
    check_forms(work, run, children)
    check_unfinished(work, run, children[0])
    # A bundle carries them, without the names of files.
    tool("bundle", "-o", work / "bundle.tar.zst", run)
    bundled = json.loads(tool("report", "--json", work / "bundle.tar.zst"))["compilation"]
    assert [item["hash"] for item in bundled["list"] if item["kind"] == "child"] == hashes, bundled["list"]


def check_unfinished(work, run, child):
    """One that was not seen to end runs to the end of the recording: beyond where the last began, at least. (That the last
    had ended may have been seen after the last event only.)"""
    described = json.loads((run / "run.json").read_text(encoding="utf-8"))
    for compiler in described["compilers"]["list"]:
        compiler["end_ns"] = None if compiler["pid"] == child["pid"] else compiler["end_ns"]
    shutil.copytree(run, work / "unfinished")
    (work / "unfinished/run.json").write_text(json.dumps(described), encoding="utf-8")
    listed = json.loads(tool("report", "--json", work / "unfinished"))["compilation"]["list"]
    found = next(item for item in listed if item["pid"] == child["pid"])
    end_ns = found["t_ns"] + found["dur_ns"]
    assert found["t_ns"] == child["t_ns"] and listed[-1]["t_ns"] > child["t_ns"] + child["dur_ns"], listed
    assert listed[-1]["t_ns"] < end_ns <= described["end"]["monotonic_ns"], (listed, described["end"])


def check_roads(work):
    """Every road of libc's, from a process below the program: what failed is not listed, ancestors have threads of their
    own, and a compiler ends where another takes its place, not where that fails."""
    program = f"echo $$; {next(BUILD.rglob('gw-executes'))} >/dev/null; true"
    shell = int(tool("record", "-q", "--simgpu", "-o", work / "roads", "--", "sh", "-c", program))
    listed = json.loads((work / "roads/run.json").read_text(encoding="utf-8"))["compilers"]["list"]
    names = collections.Counter(item["name"] for item in listed)
    assert names == {"ptxas": 11, "gcc-12": 7, "nvcc": 1}, names
    for item in listed:
        (parent, thread), *upper = item["ancestors"]
        # Who forked it is not known any more where it ended at once; posix_spawn says it. Nor is who made its parent
        # where that has ended before the recorder had a CPU.
        assert upper in ([[shell, shell]], []) and parent != shell and thread in (0, parent), item
    assert any(item["ancestors"][0][1] and item["ancestors"][1:] for item in listed), listed
    driver = next(item for item in listed if item["name"] == "nvcc")
    inner = next(item for item in listed if item["name"] == "ptxas" and item["pid"] == driver["pid"])
    assert driver["begin_ns"] < driver["end_ns"] == inner["begin_ns"] <= inner["end_ns"], (driver, inner)


def rows_of_steps(work, run):
    tool("export", "-o", work / "csv", run)
    return [(int(step["step"]), int(step["begin_ns"]), int(step["end_ns"])) for step in rows(work / "csv/steps.csv")]


def check_forms(work, run, children):
    text = tool("report", "-v", run)
    assert "Compilation and loading" in text and text.count(": ptxas (process ") >= 3, text
    assert "| ptxas |" in tool("report", "--md", run)
    listed = [row for row in rows(work / "csv/compiles.csv") if row["kind"] == "child"]
    wanted = [(child["pid"], child["name"], child["t_ns"], child["hash"]) for child in children]
    assert [(int(row["pid"]), row["name"], int(row["begin_ns"]), row["hash"]) for row in listed] == wanted, listed
    for form in ("jsonl", "sqlite", "chrome", "perfetto"):
        tool("export", "--format", form, "-o", work / form, run)
    lines = map(json.loads, (work / "jsonl").read_text(encoding="utf-8").splitlines())
    lines = [line for line in lines if line["type"] == "compile" and line["kind"] == "child"]
    assert [(line["pid"], line["name"], line["begin_ns"], line["hash"]) for line in lines] == wanted, lines
    query = "SELECT pid, name, start, hash FROM GPUWITNESS_COMPILES WHERE kind = 'child' ORDER BY start"
    with sqlite3.connect(work / "sqlite") as database:
        assert database.execute(query).fetchall() == wanted
    events = json.loads((work / "chrome").read_text(encoding="utf-8"))["traceEvents"]
    assert [(event["tid"], event["name"]) for event in events if event.get("cat") == "compiler"] == [line[:2] for line in wanted]
    perfetto = (work / "perfetto").read_bytes()
    assert all(f"ptxas, process {child['pid']}".encode() in perfetto for child in children)


def check_unharmed(work):
    """The compiler's output, error and status are what they are without a recording."""
    program = ["sh", "-c", "nvcc --version; ptxas --version; ptxas /nonexistent.ptx; echo $?; gcc --version"]
    home = [line for line in (BUILD / "CMakeCache.txt").read_text(encoding="utf-8").splitlines()
            if line.startswith("GW_NVCC:")][0].split("=", 1)[1]
    environment = dict(os.environ, PATH=f"{pathlib.Path(home).parent}:{os.environ['PATH']}")
    bare = subprocess.run(program, env=environment, capture_output=True, text=True, check=False)
    recorded = subprocess.run([BUILD / "bin/gpuwitness", "record", "-q", "--simgpu", "-o", work / "tools", "--", *program],
                              env=environment, capture_output=True, text=True, check=False)
    assert (bare.stdout, bare.stderr, bare.returncode) == (recorded.stdout, recorded.stderr, recorded.returncode), \
        (bare, recorded)
    listed = json.loads((work / "tools/run.json").read_text(encoding="utf-8"))["compilers"]["list"]
    names = [item["name"] for item in listed]
    assert names.count("ptxas") == 2 and names.count("nvcc") == 1 and names.count("gcc") == 1, names
    assert all(item["end_ns"] >= item["begin_ns"] for item in listed), listed


def check_loads(work):
    for attempt in range(3):  # steps that compile differ a lot: on a busy machine they may not be found, which is no fault here
        run = work / f"loads{attempt}"
        tool("record", "-q", "--simgpu", "-o", run, "--", BUILD / "scenarios/shape_every_step")
        if json.loads(tool("report", "--json", run))["steps"]["count"]:
            break
    tool("export", "-o", work / "loads.csv", run)
    calls = [call for call in rows(work / "loads.csv/calls.csv") if call["name"] == "cudaLibraryLoadData"]
    kinds = json.loads(tool("report", "--json", run))["compilation"]["kinds"]
    loads = [kind for kind in kinds if kind["kind"] in ("load", "jit")]
    told = sum(kind[phase]["count"] for kind in loads for phase in ("cold", "steady", "elsewhere"))
    assert calls and told >= len(calls), (len(calls), loads)
    steady = sum(kind["steady"]["count"] for kind in loads)
    fresh = sum(kind["steady"]["new"] for kind in loads)
    assert steady == fresh > 10, loads  # each step loads another kernel


PTX = (".version 7.0\n.target sm_52\n.address_size 64\n"
       ".visible .entry module_kernel(.param .u64 module_kernel_param_0)\n{\n    ret;\n}\n")  # of driver_api.cu


def check_jit(work):
    run = work / "jit"
    tool("record", "-q", "--simgpu", "-o", run, "--", BUILD / "programs/driver_api")
    loads = [item for item in json.loads(tool("report", "--json", run))["compilation"]["list"] if item["kind"] == "jit"]
    assert len(loads) >= 2 and {item["bytes"] for item in loads} == {len(PTX)}, loads
    assert len({item["hash"] for item in loads}) == 1, loads
    assert [item["new"] for item in loads] == [True] + [False] * (len(loads) - 1), loads
    assert "PTX compiled by the driver" in tool("report", run)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="gw-compiles-") as temporary:
        check_children(pathlib.Path(temporary))
        check_roads(pathlib.Path(temporary))
        check_unharmed(pathlib.Path(temporary))
        check_loads(pathlib.Path(temporary))
        check_jit(pathlib.Path(temporary))
