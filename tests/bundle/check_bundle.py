#!/usr/bin/env python3
"""Plants secrets wherever a recording may pick them up, bundles the run, and finds none of them:

    check_bundle.py GPUWITNESS EXAMPLES-DIRECTORY

The bundle is unpacked by tar, its checksums are computed again, and its parts are compared with the report."""
import hashlib
import json
import os
import pathlib
import re
import shutil
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
                                                    env=environment, cwd=working, **more)
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
            expect(not any("trace" in m for m in members), f"{kind}: the trace is in it")
            host = socket.gethostname()
            for member, path in members.items():
                data = path.read_bytes()
                for secret in secrets + ([TOKEN] if kind == "run2" else []):
                    expect(secret.encode() not in data, f"{kind}: {member} holds {secret}")
                if not member.endswith(".png"):
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

        for words, status, part in ((["run", "-o", "x.zip"], 2, ".tar.zst"), (["run"], 2, "-o"),
                                    (["none", "-o", "x.tar"], 1, "none"),
                                    (["run", "-o", "missing/x.tar.zst"], 1, "No such file")):
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
