#!/usr/bin/env python3
"""Feeds damaged and foreign files to the importers: each must end with status 1 and exactly one line that names the file
and says what is wrong, and never a crash.

    check_bad.py GW_IMPORT_FACTS SCRATCH_FOLDER"""
import gzip
import os
import random
import shutil
import sqlite3
import subprocess
import sys

GOOD = b"""{"traceEvents": [{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 5.5,
 "dur": 2, "args": {"correlation": 7}}, {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 8, "dur": 1,
 "args": {"device": 0, "stream": 7, "correlation": 7}}]}"""
# name, content, what the line must say
BAD = [
    ("empty.json", b"", "empty"),
    ("empty.json.gz", gzip.compress(b""), "empty"),
    ("cut.json", GOOD[:-30], "ends in the middle"),
    ("cut.json.gz", gzip.compress(GOOD)[:-20], "cut off"),
    ("flipped.json.gz", gzip.compress(GOOD * 400)[:60] + b"\x55" * 40 + gzip.compress(GOOD * 400)[100:], "damaged"),
    ("syntax.json", GOOD.replace(b'"dur"', b"dur"), "no valid JSON"),
    ("twice.json", GOOD + GOOD, "no valid JSON"),
    ("latin1.json", GOOD.replace(b'"k"', b'"\xe9"'), "no valid JSON"),
    ("other.json", b'{"schema": "gpuwitness.report/1", "steps": {}}', "traceEvents"),
    ("list.json", b"[1, 2, [3]]", "no CUDA call"),
    ("cpu-only.json", b'{"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "a", "ts": 1, "dur": 1}]}', "no CUDA call"),
    ("fields.json", b'{"traceEvents": [{"ph": "X", "cat": "kernel", "name": "k", "ts": "x", "dur": [1]}]}', "no CUDA call"),
    ("xla.json", b'{"traceEvents": [{"ph": "M", "pid": 1, "name": "process_name", "args": {"name": "/device:GPU:0"}}, {"ph": "X", '
                 b'"pid": 1, "tid": 13, "ts": 1, "dur": 2, "name": "fusion_1", "args": {"correlation_id": "7"}}]}', "XLA"),
    ("negative.json", b'{"traceEvents": [{"ph": "X", "cat": "cuda_runtime", "name": "k", "pid": 1, "tid": 1, "ts": -5, '
                      b'"dur": 1}]}', "no CUDA call"),
    ("text.json", b"hello, world\n", "neither"),
    ("number.json", b"42", "neither"),
    ("binary.sqlite", bytes(range(256)) * 9, "neither"),
    ("header-only.sqlite", b"SQLite format 3\0" + b"\xff" * 500, "damaged"),
    ("deep.json", b"[" * 300000, "ends in the middle"),  # beyond any stack; the parser copies its own at each growth
]
FINE = [("good.json", GOOD), ("good-bare-list.json", GOOD[GOOD.index(b"["):-1]), ("good-mark.json", b"\xef\xbb\xbf" + GOOD),
        ("good-without-extension", gzip.compress(GOOD))]


def database(path, *statements):
    if os.path.exists(path):
        os.remove(path)
    with sqlite3.connect(path) as db:
        for statement in statements:
            db.execute(statement)
    db.close()


def run(program, path, *options):
    return subprocess.run([program, *options, path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)


def judge(done, path, words):
    lines = done.stderr.decode(errors="replace").splitlines()
    name = os.path.basename(path)
    if done.returncode != 1 or len(lines) != 1 or name not in lines[0] or words not in lines[0] or done.stdout:
        print(f"{name}: status {done.returncode}, wanted one line with '{words}', got {lines[:3]}")
        return 1
    print(f"{name}: {lines[0].rpartition(name)[2][2:]}")
    return 0


def garble(program, path, content, alphabet, in_parts):
    """Bytes changed anywhere: the file is read or refused in one line, in parts as at once."""
    dice = random.Random(1)
    faults = 0
    for _ in range(200):
        garbled = bytearray(content)
        for _ in range(dice.randint(1, 6)):
            garbled[dice.randrange(len(garbled))] = dice.choice(alphabet)
        with open(path, "wb") as file:
            file.write(garbled)
        done = run(program, path)
        parts = run(program, path, "--parts", "3") if in_parts else done
        if done.returncode not in (0, 1) or (done.returncode == 1 and done.stderr.count(b"\n") != 1) or (
                (parts.returncode, parts.stdout, parts.stderr) != (done.returncode, done.stdout, done.stderr)):
            kept = path + f".{faults}"
            shutil.copy(path, kept)
            print(f"{os.path.basename(kept)}: status {done.returncode}: {done.stderr[:300]!r}")
            faults += 1
    return faults


def main():
    program, folder = sys.argv[1:3]
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    faults = 0
    for name, content, words in BAD:
        path = os.path.join(folder, name)
        with open(path, "wb") as file:
            file.write(content)
        faults += judge(run(program, path), path, words)
    path = os.path.join(folder, "not-there.json")
    faults += judge(run(program, path), path, "cannot be opened")
    path = os.path.join(folder, "foreign.sqlite")
    database(path, "CREATE TABLE people (name TEXT)")
    faults += judge(run(program, path), path, "without CUDA activity")
    path = os.path.join(folder, "columns.sqlite")
    database(path, "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, finish INT)")
    faults += judge(run(program, path), path, "no column")
    path = os.path.join(folder, "nameless.sqlite")
    database(path, "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INT, end INT, globalTid INT, nameId INT, correlationId INT)",
             "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (10, 20, 16777217, 1, 1)")
    faults += judge(run(program, path), path, "StringIds")
    path = os.path.join(folder, "cut.sqlite")
    database(path, "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, end INT, deviceId INT, streamId INT)",
             "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9999) "
             "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT i, i + 1, 0, 7 FROM n")
    with open(path, "r+b") as file:
        file.truncate(os.path.getsize(path) // 2)
    faults += judge(run(program, path), path, "")
    for name, content in FINE:
        path = os.path.join(folder, name)
        with open(path, "wb") as file:
            file.write(content)
        done = run(program, path)
        if done.returncode or b"calls 1\nops 1\nuntied 0\n" not in done.stdout:
            print(f"{name}: status {done.returncode}: {done.stderr.decode(errors='replace')}")
            faults += 1
    path = os.path.join(folder, "whole.sqlite")
    database(path, "PRAGMA page_size = 512", "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT)",
             "INSERT INTO StringIds VALUES (1, 'cudaLaunchKernel_v7000'), (2, 'kernel(int)')",
             "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INT, end INT, globalTid INT, nameId INT, correlationId INT)",
             "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, end INT, deviceId INT, streamId INT, correlationId INT, "
             "globalPid INT, demangledName INT)",
             "CREATE TABLE NVTX_EVENTS (start INT, end INT, globalTid INT, eventType INT, text TEXT)",
             "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (10, 20, 16777217, 1, 1), (30, 40, 16777217, 1, 2)",
             "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (15, 25, 0, 7, 1, 16777216, 2), (35, 45, 0, 7, 2, 16777216, 2)",
             "INSERT INTO NVTX_EVENTS VALUES (5, 50, 16777217, 59, 'range')")
    with open(path, "rb") as file:
        whole = file.read()
    done = run(program, path)
    if done.returncode or b"calls 2\nops 2\nuntied 0\n" not in done.stdout:
        print(f"whole.sqlite: status {done.returncode}: {done.stderr.decode(errors='replace')}")
        faults += 1
    faults += garble(program, os.path.join(folder, "garbled.json"), GOOD, b'{}[]",:0-9e.\\ \x00\xff', True)
    faults += garble(program, os.path.join(folder, "garbled.sqlite"), whole, bytes(range(256)), False)
    print(f"{faults} faults")
    return 1 if faults else 0


sys.exit(main())
