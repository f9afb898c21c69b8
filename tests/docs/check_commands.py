#!/usr/bin/env python3
"""Runs the commands of the documents, and follows their links:

    check_commands.py GPUWITNESS BUILD-DIRECTORY ROOT

Commands stand in blocks of kind `console` behind "$ ". The blocks of a document are run in order in one empty folder and must end with
status 0, or with what "# ends with status N" or "N or M" says (what a machine measures differs). Of a block that needs more than this machine has (`console needs-…`) the options are
compared with --help, and a command of this repository must exist."""
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import os

FAULTS = []


def fault(text):
    print("FAULT:", text)
    FAULTS.append(text)


def blocks(text):
    """(marks, commands) of each console block."""
    for marks, body in re.findall(r"^```console *(.*?)\n(.*?)^```$", text, re.M | re.S):
        body = body.replace("\\\n", " ")
        yield marks, [line[2:] for line in body.splitlines() if line.startswith("$ ")]


def check_words(gpuwitness, root, document, command):
    words = shlex.split(command, comments=True)
    first = words[0]
    if "/" in first and not first.startswith("/") and not (root / first).exists():
        fault(f"{document}: {first} is not in the repository")
    while any(word == "gpuwitness" or word.endswith("/gpuwitness") for word in words):
        at = next(i for i, word in enumerate(words) if word == "gpuwitness" or word.endswith("/gpuwitness"))
        verb, words = words[at + 1], words[at + 2:]
        help_text = subprocess.run([gpuwitness, verb, "--help"], capture_output=True, text=True, check=False).stdout
        if not help_text.startswith("Usage"):
            fault(f"{document}: gpuwitness {verb}: there is no such verb")
        for word in words:
            if word == "--":
                break
            option = re.match(r"--[a-z][a-z-]*", word)
            if option and not re.search(re.escape(option[0]) + r"(?![a-z-])", help_text):
                fault(f"{document}: gpuwitness {verb} has no option {option[0]}")


def run_document(gpuwitness, build, root, path):
    """Returns how many commands were run, and how many were only looked at."""
    text, document = path.read_text(encoding="utf-8"), path.relative_to(root)
    run = looked_at = 0
    with tempfile.TemporaryDirectory(prefix="gw-docs-") as folder:
        environment = dict(os.environ, PATH=f"{pathlib.Path(gpuwitness).parent}:{os.environ['PATH']}", HOME=folder, TMPDIR=folder)
        (pathlib.Path(folder) / "build").symlink_to(build)  # as in a checkout
        for marks, commands in blocks(text):
            for command in commands:
                check_words(gpuwitness, root, document, command)
                if marks:
                    looked_at += 1
                    continue
                wanted = re.search(r"#.*ends with status (\d+(?: or \d+)*)", command)
                done = subprocess.run(["bash", "-o", "pipefail", "-c", command], cwd=folder, env=environment, text=True,
                                      capture_output=True, stdin=subprocess.DEVNULL, check=False)
                run += 1
                if str(done.returncode) not in (wanted[1].split(" or ") if wanted else ["0"]):
                    fault(f"{document}: `{command}` ends with status {done.returncode}: {done.stderr.strip()[-500:]}")
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text):
        if not target.startswith("http") and not (path.parent / target).exists():
            fault(f"{document}: its link to {target} leads nowhere")
    return run, looked_at


def main():
    gpuwitness, build, root = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
    total = 0
    for path in [root / "README.md", *sorted((root / "docs").glob("*.md"))]:
        run, looked_at = run_document(gpuwitness, build, root, path)
        total += run
        print(f"{path.relative_to(root)}: {run} commands run, {looked_at} looked at")
    if total < 15:
        fault(f"only {total} commands were run")
    return 1 if FAULTS else 0


sys.exit(main())
