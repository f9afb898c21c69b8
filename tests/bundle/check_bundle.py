#!/usr/bin/env python3
"""Plants secrets wherever a recording may pick them up, bundles the run, and finds none of them:

    check_bundle.py GPUWITNESS EXAMPLES-DIRECTORY

The bundle is unpacked by tar, its checksums are computed again, its parts are compared with the report, and it is read
back: whole, cut, with hashed names, damaged, and forged."""
import csv
import hashlib
import io
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tarfile
import tempfile

FAULTS = []
USER, TOKEN, FOLDER, WORKING, VALUE = "zuzanna", "hunter2-Argument", "secretProject", "privateDesk", "sk-9f8e7d-Value"


def expect(holds, what):
    if not holds:
        print("FAULT:", what)
        FAULTS.append(what)


def unpack(path, folder):
    """Through tar itself, as people do; zstd is a program of its own there."""
    subprocess.run(["tar", "-xf", path, "-C", folder], check=True)
    return {str(p.relative_to(folder)): p for p in folder.rglob("*") if p.is_file()}


def table(run, folder, path, name):
    result = run("export", "-o", str(folder), path)
    expect(result.returncode == 0, result.stderr)
    with open(folder / f"{name}.csv", newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def check_reading(run, folder, working, bundle):
    """What reads a run reads its bundle, and finds the same."""
    ours, theirs = (json.loads(run("report", "--json", path).stdout) for path in ("run", bundle))
    for key in ("steps", "budget_ms", "per_device"):
        expect(ours[key] == theirs[key], f"{bundle}: {key} differs when read back")
    verdicts = lambda report: [{k: v for k, v in verdict.items() if k != "evidence"} for verdict in report["verdicts"]]
    expect(verdicts(ours) == verdicts(theirs), f"{bundle}: verdicts differ when read back")
    drawn = run("plot", bundle, "-o", "drawn", "--only", "overview")
    expect(drawn.returncode == 0 and (working / "drawn" / "overview.png").stat().st_size > 1000, drawn.stderr)
    compared = run("diff", "--json", "run", bundle)
    expect(compared.returncode == 0 and json.loads(compared.stdout)["step"]["change_ms"] == 0,
           f"diff with the bundle: {compared.stdout[:300]} {compared.stderr}")
    whole = table(run, folder / "csv-run", "run", "steps")

    for words, first, last in ((["--steps", "20..29"], 20, 29), (["--max-size", "100K"], None, None)):
        result = run("bundle", "-o", "cut.tar", *words, "run")
        expect(result.returncode == 0, result.stderr)
        if first is None:
            first, last = map(int, re.search(r"steps (\d+)\.\.(\d+)", result.stderr).groups())
            expect(5 <= first < last < 54, f"steps {first}..{last} are not the middle")
        cut = table(run, folder / "csv-cut", "cut.tar", "steps")
        times = [(s["begin_ns"], s["end_ns"]) for s in whole[first:last + 1]]
        found = [(s["begin_ns"], s["end_ns"]) for s in cut]
        expect(found == times, f"{words}: {len(found)} steps instead of {len(times)}, or others")
        with tarfile.open(working / "cut.tar") as archive:
            size = sum(m.size for m in archive if "/run/trace/" in m.name and "metadata" not in m.name)
            expect(words[0] != "--max-size" or size <= 100 * 1024, f"{words}: the trace has {size} bytes")
            readme = archive.extractfile("cut/README.md").read().decode()
            expect(f"{first}…{last}" in readme, f"{words}: README.md does not say what was cut")


def check_trace(folder, working):
    """Babeltrace itself finds the same events in the recording and in the bundle's copy of it."""
    if not shutil.which("babeltrace2"):
        return
    kinds = []
    for path in (working / "run" / "trace", folder / "unpacked-run" / "evidence" / "run" / "trace"):
        printed = subprocess.run(["babeltrace2", str(path)], capture_output=True, text=True, check=False)
        expect(printed.returncode == 0 and not printed.stderr, f"babeltrace2 {path}: {printed.stderr[:300]}")
        kinds.append(sorted((line.split("]")[0], re.search(r"gpuwitness:\w+", line)[0]) for line in printed.stdout.splitlines()))
    expect(kinds[0] and kinds[0] == kinds[1], f"babeltrace2: {len(kinds[0])} events, {len(kinds[1])} in the bundle")


def check_hashes(run, folder, working):
    names = {op["name"] for op in table(run, folder / "csv-run", "run", "ops")} - {""}
    expect(names, "no kernels")
    for target in ("hashed.tar.gz", "hashed-again.tar.gz"):
        result = run("bundle", "--hash-names", "-o", target, "run")
        expect(result.returncode == 0 and not result.stderr, result.stderr)
    listed = run("bundle", "--hash-names", "--show-redactions", "run").stdout
    expect(all(f"  {name}\n" in listed for name in names), "--show-redactions does not tell the names that are hashed")
    for member in unpack_all(working / "hashed.tar.gz"):
        for name in names | {"train_loop"}:
            expect(name.encode() not in member[1], f"--hash-names: {member[0]} holds {name}")
    kernels = [{op["name"] for op in table(run, folder / f"csv-{i}", path, "ops")} - {""}
               for i, path in enumerate(("hashed.tar.gz", "hashed-again.tar.gz"))]
    expect(kernels[0] == kernels[1] and len(kernels[0]) == len(names), f"hashes: {kernels}")
    ours, theirs = (json.loads(run("report", "--json", path).stdout) for path in ("run", "hashed.tar.gz"))
    expect(ours["budget_ms"] == theirs["budget_ms"], "--hash-names changes the budget")


def unpack_all(path):
    with tarfile.open(path) as archive:
        return [(m.name, archive.extractfile(m).read()) for m in archive if m.isfile()]


def check_damage(run, folder, working):
    """Each in a folder of its own, below which nothing may appear but the bundle."""
    whole = working / "plain.tar"
    run("bundle", "-o", "plain.tar", "run")
    data = whole.read_bytes()
    where = data.index(b"pageable-copy")
    members = unpack_all(whole)
    sums = dict(line.split("  ")[::-1] for line in dict(members)["plain/SHA256SUMS"].decode().splitlines())

    def forged(add=(), sums_of=(), leave_out=()):
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w") as archive:
            for name, kind, content in [*((n, tarfile.REGTYPE, c) for n, c in members if n not in leave_out and
                                          not n.endswith("SUMS")), *add,
                                        ("plain/SHA256SUMS", tarfile.REGTYPE, "".join(
                                            f"{digest}  {name}\n" for name, digest in {**sums, **dict(sums_of)}.items())
                                         .encode())]:
                info = tarfile.TarInfo(name)
                info.type, info.size = kind, len(content) if kind == tarfile.REGTYPE else 0
                info.linkname = "" if kind == tarfile.REGTYPE else content.decode()
                archive.addfile(info, io.BytesIO(content) if info.size else None)
        return out.getvalue()

    evil = hashlib.sha256(b"evil").hexdigest()
    cases = {
        "flipped": (data[:where] + b"X" + data[where + 1:], "checksum"),
        "cut": (data[:len(data) // 2], "damaged"),
        "no-list": (data[:data.rindex(b"plain/SHA256SUMS")] + bytes(1024), "checksums are missing"),
        "missing": (forged(leave_out=["plain/run/functions.txt"]), "missing"),
        "more": (forged([("plain/run/more", tarfile.REGTYPE, b"evil")]), "more than"),
        "above": (forged([("plain/run/../../../evil", tarfile.REGTYPE, b"evil")],
                         [("run/../../../evil", evil)]), "no bundle"),
        "absolute": (forged([(f"{folder}/evil", tarfile.REGTYPE, b"evil")]), "no bundle"),
        "link": (forged([("plain/run/out", tarfile.SYMTYPE, str(folder).encode()),
                         ("plain/run/out/evil", tarfile.REGTYPE, b"evil")], [("run/out/evil", evil)]), "no bundle"),
        "hard-link": (forged([("plain/run/evil", tarfile.LNKTYPE, b"/etc/passwd")]), "no bundle"),
        "twice": (forged([("plain/run/run.json", tarfile.REGTYPE, b"evil")]), "no bundle"),
        "another": (forged([("other/run/evil", tarfile.REGTYPE, b"evil")]), "no bundle"),
        "empty": (b"", ""),
    }
    temporary = working / "temporary"
    temporary.mkdir()
    for name, (content, part) in cases.items():
        path = working / f"{name}.tar"
        path.write_bytes(content)
        result = run("report", str(path), TMPDIR=str(temporary))
        expect(result.returncode == 1 and result.stderr.count("\n") == 1 and part in result.stderr and
               str(path) in result.stderr, f"{name}: {result.returncode} {result.stderr!r}")
        expect(not result.stdout and not list(temporary.iterdir()), f"{name}: {list(temporary.iterdir())}")
    expect(not list(folder.rglob("evil")), "a forged bundle wrote outside")
    result = run("report", str(working / "run.tar.zst"))
    expect(result.returncode == 1 and result.stderr.count("\n") == 1, f"no such bundle: {result.stderr!r}")
    result = run("bundle", "-o", "without-tmp.tar", "run", TMPDIR=str(working / "missing"))
    expect(result.returncode == 1 and result.stderr.count("\n") == 1 and "set TMPDIR" in result.stderr and
           not list(working.glob("without-tmp.tar*")), f"without a temporary folder: {result.stderr!r}")
    run("bundle", "--no-trace", "-o", "bare.tar", "run")
    result = run("report", "bare.tar")
    expect(result.returncode == 1 and "report.txt" in result.stderr, f"without a recording: {result.stderr!r}")


def check_killed(gpuwitness, run, working, environment):
    """The folder in which a killed bundle drew is removed by who reads next."""
    temporary = working / "killed"
    temporary.mkdir()
    with subprocess.Popen([gpuwitness, "bundle", "-o", "killed.tar", "run"], cwd=working, stderr=subprocess.DEVNULL,
                          env={**environment, "TMPDIR": str(temporary)}) as killed:
        while not list(temporary.iterdir()) and killed.poll() is None:
            pass
        killed.kill()
    expect(list(temporary.iterdir()), "the bundle was killed after its pictures")
    run("report", "evidence.tar.zst", TMPDIR=str(temporary))
    expect(not list(temporary.iterdir()), f"left by a killed bundle: {list(temporary.iterdir())}")


def check_interrupted(gpuwitness, working, environment):
    """Of an archive that was being written when Ctrl-C came, nothing stays."""
    with subprocess.Popen([gpuwitness, "bundle", "-o", "interrupted.tar", "run"], cwd=working, stderr=subprocess.PIPE,
                          env=environment) as interrupted:
        while not list(working.glob("interrupted.tar*")) and interrupted.poll() is None:
            pass
        interrupted.send_signal(signal.SIGINT)
        said = interrupted.communicate()[1]
    expect(interrupted.returncode == -signal.SIGINT and not said, f"Ctrl-C: {interrupted.returncode} {said}")
    expect(not list(working.glob("interrupted.tar*")), f"left by Ctrl-C: {list(working.glob('interrupted.tar*'))}")


def check_ranks(run, working, program):
    """Each rank's recording is there, under a name that does not tell its host."""
    for rank in ("0", "1"):
        recorded = run("record", "-q", "--simgpu", "-o", "job", "--", program, RANK=rank, WORLD_SIZE="2", SLURM_JOB_ID="4711099")
        expect(recorded.returncode == 0, recorded.stderr)
    expect(run("bundle", "-o", "job.tar", "job").returncode == 0, "ranks cannot be bundled")
    members = unpack_all(working / "job.tar")
    folders = {name.split("/")[2] for name, _ in members if name.startswith("job/run/")}
    expect(folders == {"rank-00000", "rank-00001"}, f"folders of ranks: {folders}")
    for name, data in members:
        expect(b"4711099" not in data, f"ranks: {name} holds the job's number")
    ours, theirs = (json.loads(run("report", "--json", path).stdout) for path in ("job", "job.tar"))
    for key in ("steps", "budget_ms", "per_device"):
        expect(ours[key] == theirs[key], f"ranks: {key} differs when read back")


def check_import(run, working):
    """A trace of another tool is bundled without what is private, and read back."""
    for kind, name in (("chrome", "foreign.json"), ("sqlite", "foreign.sqlite")):
        run("export", "--format", kind, "-o", name, "run")
        result = run("bundle", "-o", f"{kind}.tar.zst", name)
        expect(result.returncode == 0, result.stderr)
        ours, theirs = (json.loads(run("report", "--json", path).stdout) for path in (name, f"{kind}.tar.zst"))
        expect(ours["steps"] == theirs["steps"] and ours["budget_ms"] == theirs["budget_ms"], f"{kind}: read back differs")


def main():
    gpuwitness, examples = sys.argv[1], pathlib.Path(sys.argv[2])
    with tempfile.TemporaryDirectory(prefix="gw-bundle-") as name:
        folder = pathlib.Path(name)
        home, working = folder / "home" / USER, folder / WORKING
        program = home / FOLDER / "train_loop"
        program.parent.mkdir(parents=True)
        working.mkdir()
        shutil.copy(examples / "train_loop", program)
        environment = dict(os.environ, USER=USER, LOGNAME=USER, HOME=str(home), CUDA_MY_SETTING=VALUE,
                           CUDA_VISIBLE_DEVICES="0", NCCL_SOCKET_IFNAME="secretNic0")
        run = lambda *words, **more: subprocess.run([gpuwitness, *words], capture_output=True, text=True, check=False,
                                                    env={**environment, **more}, cwd=working)
        # The program ignores what it does not know or ends; either way its command line is recorded.
        run("record", "-q", "--simgpu", "-o", "run", "--", program, "--pinned")
        recorded = run("record", "-q", "--simgpu", "-o", "run2", "--", "env", f"CUDA_MY_OTHER={VALUE}", program,
                       "--pinned", f"--token={TOKEN}")
        secrets = [USER, FOLDER, WORKING, VALUE, "secretNic0", str(folder)]
        for kind, target in (("run", "evidence.tar.zst"), ("run2", "other.tar.gz")):
            planted = (working / kind / "run.json").read_text()
            expect(FOLDER in planted and WORKING in planted and VALUE in planted, f"{kind}: no secrets were recorded")
            result = run("bundle", "-o", target, kind)
            expect(result.returncode == 0 and not result.stdout and not result.stderr, f"{kind}: {result.stderr!r}")
            unpacked = folder / f"unpacked-{kind}"
            unpacked.mkdir()
            members = unpack(working / target, unpacked)
            prefix = target.split(".")[0] + "/"
            wanted = {prefix + m for m in ("README.md", "report.txt", "report.json", "environment.json", "SHA256SUMS")}
            expect(wanted <= set(members) and prefix + "plots/overview.png" in members, f"{kind}: {sorted(members)}")
            expect(prefix + "run/run.json" in members, f"{kind}: the recording is not in it")
            host = socket.gethostname()
            for member, path in members.items():
                data = path.read_bytes()
                for secret in secrets + ([TOKEN] if kind == "run2" else []):
                    expect(secret.encode() not in data, f"{kind}: {member} holds {secret}")
                if not member.endswith(".png") and (len(host) > 5 or "/stream_" not in member):
                    expect(not re.search(rf"\b{re.escape(host)}\b".encode(), data), f"{kind}: {member} holds the host")
            for line in members[prefix + "SHA256SUMS"].read_text().splitlines():
                digest, member = line.split("  ")
                found = hashlib.sha256(members[prefix + member].read_bytes()).hexdigest()
                expect(found == digest, f"{kind}: checksum of {member}")
            expect(len(members[prefix + "SHA256SUMS"].read_text().splitlines()) == len(members) - 1, "checksums missing")
            compression = "tar" if kind == "run" else "r:gz"
            if compression == "r:gz":
                with tarfile.open(working / target, compression) as archive:
                    owners = {(m.uid, m.gid, m.uname, m.gname) for m in archive}
                    expect(owners == {(0, 0, "", "")}, f"owners of members: {owners}")

            # What is not private is all there, and the same as in the report.
            ours = json.loads(run("report", "--json", kind).stdout)
            bundled = json.loads(members[prefix + "report.json"].read_text())
            for key in ("steps", "budget_ms", "coverage", "per_device"):
                if key != "coverage":
                    expect(ours[key] == bundled[key], f"{kind}: {key} differs")
            expect([(v["id"], v["saving_ms"]) for v in ours["verdicts"]] ==
                   [(v["id"], v["saving_ms"]) for v in bundled["verdicts"]], f"{kind}: verdicts differ")
            variables = json.loads(members[prefix + "environment.json"].read_text())["variables"]
            expect(variables["CUDA_VISIBLE_DEVICES"] == "0" and variables["CUDA_MY_SETTING"].startswith("{"),
                   f"{kind}: variables {variables}")
            readme = members[prefix + "README.md"].read_text()
            expect("train_loop" in readme or kind == "run2", f"{kind}: the program's name is gone")
            expect("| **step** |" in readme or not ours["steps"]["count"], f"{kind}: no budget in README.md")

        listed = run("bundle", "--show-redactions", "run")
        expect(listed.returncode == 0 and VALUE in listed.stdout and "{value1}" in listed.stdout, listed.stdout)
        with_trace = run("bundle", "--with-trace", "-o", "whole.tar", "run")
        expect(with_trace.returncode == 0 and "--with-trace" in with_trace.stderr, "--with-trace says nothing")
        with tarfile.open(working / "whole.tar") as archive:
            names = archive.getnames()
            expect("whole/run/run.json" in names and any(n.endswith("/metadata") for n in names), f"trace: {names}")
            archive.extractall(folder / "whole", filter="data") if sys.version_info >= (3, 12) else archive.extractall(
                folder / "whole")
        expect(run("report", "--json", str(folder / "whole" / "whole" / "run")).returncode == 0, "bundled run unreadable")

        check_reading(run, folder, working, "evidence.tar.zst")
        check_trace(folder, working)
        check_hashes(run, folder, working)
        check_damage(run, folder, working)
        check_import(run, working)
        check_killed(gpuwitness, run, working, environment)
        check_interrupted(gpuwitness, working, environment)
        check_ranks(run, working, program)

        for words, status, part in ((["run", "-o", "x.zip"], 2, ".tar.zst"), (["run"], 2, "-o"),
                                    (["none", "-o", "x.tar"], 1, "none"),
                                    (["run", "-o", "missing/x.tar.zst"], 1, "No such file"),
                                    (["run", "-o", "x.tar", "--steps", "9..3"], 2, "--steps"),
                                    (["run", "-o", "x.tar", "--steps", "900..901"], 1, "no steps"),
                                    (["run", "-o", "x.tar", "--max-size", "0"], 2, "--max-size"),
                                    (["run", "-o", "x.tar", "--with-trace", "--hash-names"], 2, "--with-trace"),
                                    (["evidence.tar.zst", "-o", "x.tar"], 1, "already")):
            result = run("bundle", *words)
            expect(result.returncode == status and part in result.stderr and result.stderr.count("\n") == 1,
                   f"{words}: {result.returncode} {result.stderr!r}")
        limited = subprocess.run(["sh", "-c", 'ulimit -f 8; trap "" XFSZ; exec "$@"', "sh", gpuwitness, "bundle", "-o",
                                  "limited.tar", "run"], capture_output=True, text=True, check=False, cwd=working,
                                 env=environment)
        expect(limited.returncode == 1 and limited.stderr.count("\n") == 1 and not (working / "limited.tar").exists(),
               f"beyond the file size limit: {limited.stderr!r}")
        left = [p for p in folder.iterdir() if p.name.startswith("gpuwitness-")]
        expect(not left, f"left behind: {left}")
        print(f"{len(members)} members, recorded with status {recorded.returncode}")
    return 1 if FAULTS else 0


sys.exit(main())
