#!/usr/bin/env python3
"""Runs `gpuwitness record --rotate`: the trace lies in chunks, of which old ones may be removed."""
import json
import pathlib
import subprocess
from csv import DictReader

from harness import GPUWITNESS, PATIENCE_S, RECOVER_RUN, TICKER, Recorded, main

EXAMPLE = pathlib.Path(GPUWITNESS).parent.parent / "examples" / "train_loop"


class Rotation(Recorded):
    def chunks(self):
        """Chunks that are complete, with and without those that were removed but for a few names."""
        found = list((self.run_dir / "trace" / "archives").glob("*"))
        return found, [chunk for chunk in found if not (chunk / "stripped").exists()]

    def tick(self, process):
        """The ticker writes its events when it ends, so it is run again and again by a shell."""
        process.stdin.write("\n")
        process.stdin.flush()
        self.assertEqual(process.stdout.readline(), "done\n")

    def start_ticks(self, count, *options):
        process = subprocess.Popen(self.command("sh", "-c", f"while read go; do {TICKER} {count}; echo done; done",
                                                options=("-q", *options)),
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.strays.append(process)
        return process

    def end(self, process):
        out, err = process.communicate(timeout=PATIENCE_S)
        self.assertEqual((process.returncode, err), (0, ""))

    def test_nothing_is_lost_between_chunks(self):
        process = self.start_ticks(1000, "--rotate=1s")
        rounds = 0
        while len(self.chunks()[0]) < 2:
            self.tick(process)
            rounds += 1
        self.end(process)
        self.assertEqual(self.events() + self.info()["events_discarded"], 1000 * rounds)
        self.assertEqual(self.info()["removed"], {"chunks": 0, "bytes": 0})

    def test_disk_is_bounded(self):
        process = self.start_ticks(100000, "--rotate=1M", "--keep=2", "--buffer-size=64K")
        self.tick(process)
        while self.info().get("removed", {"chunks": 0})["chunks"] < 3:
            self.tick(process)
            self.assertLessEqual(len(self.chunks()[1]), 3)
        self.end(process)
        self.assertEqual(len(self.chunks()[1]), 2)
        self.assertEqual(len(self.chunks()[0]), 2, "of a chunk without names nothing stays")
        self.assertGreater(self.info()["removed"]["bytes"], 3 << 20)
        self.assertGreater(self.events(), 1000)

    def test_program(self):
        """The first chunk, in which the program named its kernels, is gone; the names are not."""
        done = self.record("sh", "-c", f"{EXAMPLE} --steps 3000 >/dev/null",
                           options=("-q", "--simgpu", "--rotate=1M", "--keep=1", "--buffer-size=4M"))
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertGreaterEqual(self.info()["removed"]["chunks"], 1)
        done = subprocess.run([GPUWITNESS, "report", "--json", self.run_dir], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        report = json.loads(done.stdout)
        lost = [item for item in report["coverage"]["lost_ranges"] if item["reason"] == "let go"]
        self.assertTrue(lost)
        self.assertEqual(report["coverage"]["lost_events"], 0)
        self.assertGreater(report["steps"]["count"], 10)
        subprocess.run([GPUWITNESS, "export", "--format", "csv", "-o", self.base / "csv", self.run_dir], check=True)
        with open(self.base / "csv" / "ops.csv", newline="") as file:
            kernels = [row for row in DictReader(file) if row["kind"] == "kernel" and row["call_id"]]
        self.assertTrue(kernels)
        self.assertTrue(all(row["name"] for row in kernels))

    def test_everything_killed(self):
        process = self.start_ticks(1000, "--rotate=1s")
        rounds = 0
        while not self.chunks()[0]:
            self.tick(process)
            rounds += 1
        self.tick(process)
        self.kill_everything(process)
        done = subprocess.run([RECOVER_RUN, self.run_dir], capture_output=True, text=True)
        self.assertEqual(done.stdout, "readable\n")
        self.assertGreaterEqual(self.events(), 1000 * rounds)

    def test_refused(self):
        for options in (["--keep=2"], ["--rotate=1K"], ["--rotate=10ms"], ["--rotate=often"], ["--rotate=1M", "--keep=0"],
                        ["--rotate=1M", "--flight-recorder=1s"], ["--rotate=1M", "--delay=1s"]):
            done = self.record("true", options=("-q", *options))
            self.assertEqual((done.returncode, done.stderr.count(b"\n")), (2, 1), done.stderr)


if __name__ == "__main__":
    main()
