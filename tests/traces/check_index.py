#!/usr/bin/env python3
"""check_index.py GPUWITNESS RUN: an index that misleads changes nothing that is read; packets that only an index knows, of a
stream file that was emptied, removed or cut between two packets, are a loss. What is no file is not waited for."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

GPUWITNESS, RUN = (os.path.abspath(path) for path in sys.argv[1:3])
ENTRY = slice(16, 16 + 72)  # of the first packet, behind the header


class Index(unittest.TestCase):
    def setUp(self):
        self.base = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.run_dir = self.base / "run"
        shutil.copytree(RUN, self.run_dir)
        self.stream = max(self.run_dir.rglob("gpuwitness_[0-9]"), key=lambda path: path.stat().st_size)
        self.index = self.stream.parent / "index" / f"{self.stream.name}.idx"
        (self.base / "tmp").mkdir()

    def report(self):
        done = subprocess.run([GPUWITNESS, "report", "--json", self.run_dir], capture_output=True, text=True,
                              env={**os.environ, "TMPDIR": str(self.base / "tmp")})
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(list((self.base / "tmp").iterdir()), [])
        return json.loads(done.stdout)

    def test_misleading(self):
        whole, content = self.report(), self.index.read_bytes()
        header, entry = content[:ENTRY.start], content[ENTRY]
        for damaged in (header + b"\1" + content[17:],  # far behind the end of the file
                        header + entry[:8] + b"\xff" * 16 + entry[24:], header, b"", b"\0" * 16 + entry, content[:-1],
                        content + b"\xff" * 72):
            self.index.write_bytes(damaged)
            self.assertEqual(self.report(), whole, damaged)

    def lost(self):
        return self.report()["coverage"]["lost_ranges"]

    def test_file_emptied(self):
        self.assertEqual(self.lost(), [])
        self.stream.write_bytes(b"")
        self.assertEqual(len(self.lost()), 1)

    def test_file_removed(self):
        self.stream.unlink()
        self.assertEqual(len(self.lost()), 1)

    def test_fifo_instead(self):
        """Nobody writes into it: it must not be waited for."""
        self.stream.unlink()
        os.mkfifo(self.stream)
        self.assertEqual(len(self.lost()), 1)
        metadata = next(self.run_dir.rglob("metadata"))
        for path in (metadata, self.run_dir / "functions.txt", self.run_dir / "run.json"):
            path.unlink()
            os.mkfifo(path)
            done = subprocess.run([GPUWITNESS, "report", self.run_dir], capture_output=True, text=True, timeout=60)
            self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (1, "", 1), done)
            self.assertIn(path.name, done.stderr)

    def test_names_without_end(self):
        with open(self.run_dir / "functions.txt", "w", encoding="utf-8") as functions:
            functions.truncate(1 << 34)  # one line of NULs
        done = subprocess.run([GPUWITNESS, "report", self.run_dir], capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stderr.count("\n")), (1, 1), done)

    def test_job_that_cannot_be(self):
        """Memory and time must not grow with a number that a damaged file says."""
        expected = self.report()["run"]["ranks"]["expected"]  # as the environment of the traced process says
        path = self.run_dir / "run.json"
        info = json.loads(path.read_text())
        for rank, size in ((0, 2**31 - 1), (0, 2**62), (7, 4)):
            path.write_text(json.dumps({**info, "job": {"id": "x", "rank": rank, "size": size}}))
            run = self.report()["run"]
            self.assertIn(f"rank {rank} of {size}", str(run["problems"]))
            self.assertEqual(run["ranks"]["expected"], expected)

    def test_file_cut_between_packets(self):
        """As if its last packet had been lost: the index has one more than the file."""
        size = self.stream.stat().st_size
        entry = bytearray(self.index.read_bytes()[-72:])
        entry[:8] = size.to_bytes(8, "big")
        with self.index.open("ab") as index:
            index.write(entry)
        self.assertEqual(len(self.lost()), 1)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
