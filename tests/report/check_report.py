#!/usr/bin/env python3
"""The options of `gpuwitness report`, each against what --json says of the same run:

    check_report.py GPUWITNESS TRAIN_LOOP"""
import csv
import json
import os
import pathlib
import pty
import subprocess
import sys
import tempfile

FAULTS = []


def expect(holds, what):
    if not holds:
        print("FAULT:", what)
        FAULTS.append(what)


def on_terminal(*words, **environment):
    """What a command writes to a terminal with TERM, NO_COLOR as given."""
    ours, theirs = pty.openpty()
    inherited = {name: value for name, value in os.environ.items() if name not in ("TERM", "NO_COLOR")}
    process = subprocess.Popen([*map(str, words)], stdin=subprocess.DEVNULL, stdout=theirs, env={**inherited, **environment})
    os.close(theirs)
    written = b""
    try:
        while piece := os.read(ours, 65536):
            written += piece
    except OSError:  # the other side is closed
        pass
    os.close(ours)
    expect(process.wait() == 0, f"{words} on a terminal: status {process.returncode}")
    return written.decode()


def main():
    gpuwitness, program = sys.argv[1:3]

    def run(*words, status=0):
        done = subprocess.run([gpuwitness, *map(str, words)], capture_output=True, text=True, check=False)
        expect(done.returncode == status, f"{words}: status {done.returncode}, not {status}: {done.stderr}")
        if status not in (0, 3):
            expect(done.stderr.count("\n") == 1, f"{words}: {done.stderr}")
        return done.stdout if status in (0, 3) else done.stderr

    with tempfile.TemporaryDirectory(prefix="gw-report-") as name:
        folder = pathlib.Path(name) / "run"
        run("record", "-q", "--simgpu", "-o", folder, "--", program)
        verdicts = json.loads(run("report", "--json", folder))["verdicts"]
        confirmed = [verdict for verdict in verdicts if verdict["verdict"] == "confirmed"]
        expect(confirmed, "nothing is confirmed of the loop with planted faults")

        markdown = run("report", "--md", folder)
        expect("### Verdicts" in markdown and "| class | time | share |" in markdown, f"Markdown: {markdown[:500]}")
        for verdict in verdicts:
            expect(verdict["id"] in markdown, f"{verdict['id']} is not in the Markdown")
        for line in markdown.splitlines():
            if line.startswith("|"):
                expect(line.endswith("|"), f"a row of a table that does not end: {line}")
        position = [markdown.find(f"**{verdict['id']}**") for verdict in confirmed]
        expect(-1 not in position and position == sorted(position), f"confirmed ones in order: {position}")

        for verdict in verdicts:
            alone = run("report", "--verdict", verdict["id"], folder)
            same_time = {share["id"] for share in verdict["shares"]}
            others = [other["id"] for other in verdicts
                      if other is not verdict and other["id"] not in same_time and other["id"] in alone.split()]
            expect(verdict["id"] in alone and not others, f"--verdict {verdict['id']}: {alone}")
            expect(verdict["verdict"] != "unknown" or "unknown" in alone, f"--verdict {verdict['id']}: {alone}")
            explained = run("report", "--explain", verdict["id"])
            expect(explained.startswith(verdict["id"] + ": ") and "What mends it: " in explained, explained)
        # Each piece of evidence is a call of the timeline, or of a pause of the host before one.
        run("export", "-o", pathlib.Path(name) / "csv", folder)
        with open(pathlib.Path(name) / "csv" / "calls.csv", newline="") as file:
            calls = {int(call["begin_ns"]): call["name"] for call in csv.DictReader(file) if call["depth"] == "1"}
        pieces = [(verdict["id"], piece) for verdict in confirmed for piece in verdict["evidence"]]
        expect(pieces, "no verdict has evidence")
        for verdict_id, piece in pieces:
            if piece["what"].startswith("outside CUDA before "):
                # Up to a call; where the host slept or lost the processor in the pause, up to there.
                next_ns = min(begin_ns for begin_ns in calls if begin_ns > piece["t_ns"])
                expect(piece["t_ns"] + piece["dur_ns"] <= next_ns, f"evidence of {verdict_id}: a call in the pause: {piece}")
            else:
                expect(calls.get(piece["t_ns"], "?") in piece["what"], f"evidence of {verdict_id} is no call: {piece}")

        expect("did you mean 'host-sync'" in run("report", "--verdict", "host-sink", folder, status=2), "--verdict")
        expect("did you mean 'host-sync'" in run("report", "--explain", "host-sink", status=2), "--explain")
        said = run("report", "--verdict", "nothing-like-it", folder, status=2)
        expect(all(verdict["id"] in said for verdict in verdicts), said)

        text = run("report", folder)
        for verdict in confirmed:
            saving_ms, at = verdict["saving_ms"], verdict["id"]
            expect(run("report", "--fail-on", f"{at}>{saving_ms * 0.999}", folder, status=3) == text, f"--fail-on {at}")
            run("report", "--fail-on", f"{at}>{saving_ms * 1.001}", folder)
        expect("\x1b[" in on_terminal(gpuwitness, "report", folder, TERM="xterm"), "no colours on a terminal")
        for plain in ({}, {"TERM": "dumb"}, {"TERM": "xterm", "NO_COLOR": "1"}):
            expect("\x1b" not in on_terminal(gpuwitness, "report", folder, **plain), f"colours on a terminal with {plain}")
        expect("\x1b" not in text, "colours in a pipe")
        most_ms = max((verdict["saving_ms"] for verdict in confirmed), default=0)
        run("report", "--fail-on", f"any>{most_ms * 0.999}", folder, status=3)
        run("report", "--fail-on", f"any>{most_ms * 1.001}", folder)
        absent = next(verdict["id"] for verdict in verdicts if verdict["verdict"] != "confirmed")
        run("report", "--fail-on", f"{absent}>0", folder)
        if most_ms:
            for limit in (f"{most_ms * 999}us", f" {most_ms * 0.999} ms ", f"{most_ms * 0.000999}s"):
                run("report", "--fail-on", f"any >{limit}", folder, status=3)
            top = max(confirmed, key=lambda verdict: verdict["saving_ms"])
            run("report", "--fail-on", f"any>{top['saving_percent'] * 0.999}%", folder, status=3)
            run("report", "--fail-on", f"any>{top['saving_percent'] * 1.001}%", folder)
            run("report", "--fail-on", "any>0ms", "--fail-on", f"{absent}>0", folder, status=3)  # each counts, not the last
        for wrong in ("host-sync", ">1", "host-sync>", "host-sync>x", "host-sync>-1", "host-sink>1", "host-sync>1 x", "host-sync>inf",
                      "host-sync>0x1"):
            run("report", "--fail-on", wrong, folder, status=2)
        for wrong in (("--json", "--md"), ("--json", "--verdict", "host-sync"), ("--md", "--verdict", "host-sync"),
                      ("--step-every", "2"), ("--step", ""), ("--step", "("), ("--link-gbps", "0"), ("--rank-size", "0"),
                      ("--rank-size", "x")):
            run("report", *wrong, folder, status=2)
            if "--verdict" not in wrong:
                run("merge", *wrong, folder, status=2)
        run("report", status=2)

        # What cannot be written is no success, wherever it was to go.
        for words in (("report", folder), ("report", "--json", folder), ("report", "--md", folder), ("report", "--help"),
                      ("report", "--explain", "host-sync"), ("--help",), ("--version",), ("merge", folder), ("diff", folder, folder),
                      ("plot", "-o", pathlib.Path(name) / "plots", folder), ("export", "--format", "jsonl", "-o", "-", folder),
                      ("reduce", "-o", "-", folder), ("demo", "--simgpu-help")):
            for target in (">&-", ">/dev/full"):
                done = subprocess.run(["sh", "-c", f'exec "$@" {target}', "sh", gpuwitness, *map(str, words)], stderr=subprocess.PIPE,
                                      text=True, check=False)
                expect(done.returncode == 1 and done.stderr.count("\n") == 1, f"{words} {target}: {done.returncode}, {done.stderr!r}")

        # What only the GPU's times would tell is not ruled out without them.
        untimed = pathlib.Path(name) / "untimed"
        run("record", "-q", "--simgpu", "--gpu-timing=off", "-o", untimed, "--", program)
        told = {verdict["id"]: verdict["verdict"] for verdict in json.loads(run("report", "--json", untimed))["verdicts"]}
        for name_of in ("dispatch-bound", "small-kernels", "autotune", "stream-serialised", "blocking-launches", "hiccup"):
            expect(told[name_of] == "unknown", f"without GPU timing {name_of} is {told[name_of]}")

        ended = pathlib.Path(name) / "ended"
        done = subprocess.run([gpuwitness, "record", "-q", "-o", ended, "--", "sh", "-c", "kill -s TERM $$"], check=False)
        expect(done.returncode == 143, f"a program that SIGTERM ended: {done.returncode}")
        text = " ".join(run("report", ended).split())
        expect("No CUDA call was seen before a signal ended the program" in text, text)

        escaped = pathlib.Path(name) / "escaped"
        run("record", "-q", "-o", escaped, "--", "true", "\x1b[31m\x9bred")
        for form in ((), ("--md",)):
            text = run("report", *form, escaped)
            expect("true ?[31m?red" in text and "\x1b" not in text, f"commands for the terminal: {text!r}")
    print(f"{len(verdicts)} verdicts, {len(confirmed)} confirmed, {len(FAULTS)} faults")
    return 1 if FAULTS else 0


sys.exit(main())
