#!/usr/bin/env python3
"""Runs `gpuwitness record` with steps counted while the program runs: --steps and --slow-step."""
import csv
import json
import pathlib
import subprocess

from harness import GPUWITNESS, Recorded, main

BUILD = pathlib.Path(GPUWITNESS).parent.parent
EXAMPLE = BUILD / "examples" / "train_loop"
PACED = BUILD / "bin" / "gw_paced"
MARKED_FORKS = BUILD / "bin" / "gw_marked_forks"
KERNEL = "--step=^optimizer_spin_ns$"
RANGE = "--step=^step"


class Counted(Recorded):
    def simulated(self):
        config = self.base / "simgpu.conf"
        config.write_text(f"truth {self.base}/truth\n")
        return f"--simgpu={config}"

    def run_steps(self, *options, program=(str(EXAMPLE), "--steps", "60")):
        """Records and returns the report and the standard error."""
        done = self.record(*program, options=("-q", self.simulated(), *options))
        self.assertEqual(done.returncode, 0, done.stderr)
        return self.report(), done.stderr.decode()

    def report(self, run=None):
        done = subprocess.run([GPUWITNESS, "report", "--json", run or self.run_dir], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def truth(self, kind):
        (log,) = self.base.glob("truth.*.csv")
        return [line.split(",") for line in log.read_text().splitlines() if line.startswith(f"{kind},")][1:]

    def table(self, name):
        folder = self.base / "csv"
        if not folder.exists():
            subprocess.run([GPUWITNESS, "export", "--format", "csv", "-o", folder, self.run_dir], check=True)
        with open(folder / name, newline="") as file:
            return list(csv.DictReader(file))

    def check_calls(self, begin, end):
        """All of the program's calls from begin to end are there."""
        expected = [row[3] for row in self.truth("call") if row[2] == "1" and begin <= int(row[4]) < end]
        calls = [row["name"] for row in self.table("calls.csv")
                 if row["depth"] == "1" and begin <= int(row["begin_ns"]) < end]
        # An edge is a wrapper's begin, and the simulated GPU's own comes a moment later.
        self.assertGreater(len(expected), 100)
        self.assertLessEqual(abs(len(calls) - len(expected)), 1)


class Steps(Counted):
    def check_kernels(self, timing):
        report, err = self.run_steps(KERNEL, "--steps=20..29", f"--gpu-timing={timing}")
        self.assertEqual((report["steps"]["count"], report["steps"]["method"], err), (10, "regex", ""))
        steps = self.table("steps.csv")
        begin, end = int(steps[0]["begin_ns"]), int(steps[-1]["end_ns"])
        launched = sorted(int(row[6]) for row in self.truth("op") if row[3] == "kernel" and "optimizer" in row[4])
        self.assertEqual(sum(at < begin for at in launched), 20, "steps before the first")
        self.assertEqual(sum(begin <= at < end for at in launched), 10)
        self.check_calls(begin, end)
        # Beyond: three steps that lead up to it, and the operation that ends the last.
        self.assertEqual(sum("optimizer" in row["name"] for row in self.table("ops.csv")), 3 + 10 + 1)

    def test_kernels_timed_by_events(self):
        self.check_kernels("events")

    def test_kernels_timed_by_cupti(self):
        self.check_kernels("cupti")

    def test_ranges(self):
        report, _ = self.run_steps(RANGE, "--steps=7..12", program=(str(PACED), "40", "-1"))
        self.assertEqual((report["steps"]["count"], report["steps"]["method"]), (6, "nvtx"))
        self.assertEqual(report["coverage"]["lost_events"], 0)
        memsets = [row for row in self.table("ops.csv") if row["kind"] == "memset"]
        self.assertEqual(len(memsets), (3 + 6) * 5 + 1)

    def two_ranks(self, *how):
        config = self.base / "two.conf"
        config.write_text("devices 2\n")
        done = self.record(str(EXAMPLE.with_name("ddp_loop")), "--ranks", "2", *how, "--steps", "30",
                           options=("-q", f"--simgpu={config}", KERNEL, "--steps=10..19"))
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        return self.report()["steps"]["count"]

    def test_a_thread_for_each_device(self):
        """One thread's marks count; the report may follow the other one, whose first or last step is then cut."""
        count = self.two_ranks()
        self.assertGreaterEqual(count, 8)
        self.assertLessEqual(count, 10)

    def test_processes(self):
        count = self.two_ranks("--processes")
        self.assertGreater(count, 10, "steps of both")
        self.assertLessEqual(count, 20)

    def test_from_the_first(self):
        report, _ = self.run_steps(RANGE, "--steps=0..4", program=(str(PACED), "40", "-1"))
        self.assertEqual(report["steps"]["count"], 5)

    def test_to_the_end(self):
        report, _ = self.run_steps(RANGE, "--steps=30..100", program=(str(PACED), "40", "-1"))
        self.assertEqual(report["steps"]["count"], 10)

    def test_never_reached(self):
        report, _ = self.run_steps(RANGE, "--steps=100..200", program=(str(PACED), "40", "-1"))
        self.assertEqual(report["steps"]["count"], 0)
        self.assertIn("--step matched 40 times", json.dumps(report["coverage"]["disabled"]))

    def test_forks_while_marks_are_counted(self):
        """A child has a copy of whatever lock the marking thread held, and of no thread that gives it back."""
        done = self.record(str(MARKED_FORKS), "30", options=("-q", "--simgpu", "--steps=5..9", "--step=(a|aa)*step$"))
        self.assertEqual((done.returncode, done.stderr), (0, b""))

    def test_refused(self):
        for options, word in ((["--steps=1..2"], b"needs --step"), ([KERNEL], b"goes with"),
                              (["--steps=2..1", KERNEL], b"rise"), (["--steps=1..2", "--step=("], b"regular expression"),
                              (["--steps=1..2", KERNEL, "--delay=1s"], b"excludes"),
                              (["--slow-step=2", KERNEL], b"--flight-recorder"),
                              (["--slow-step=2", "--flight-recorder=5s"], b"needs --step"),
                              (["--slow-step=1", KERNEL, "--flight-recorder=5s"], b"no factor")):
            done = self.record("true", options=("-q", *options))
            self.assertEqual((done.returncode, done.stderr.count(b"\n")), (2, 1), done.stderr)
            self.assertIn(word, done.stderr)


class SlowSteps(Counted):
    def snapshots(self, slow):
        done = self.record(str(PACED), "60", str(slow),
                           options=("-q", "--simgpu", "--flight-recorder=60s", "--slow-step=50", RANGE))
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        return sorted(path.name for path in self.run_dir.glob("snapshot-*"))

    def test_one_slow_step(self):
        self.assertEqual(self.snapshots(30), ["snapshot-1"])
        taken = self.run_dir / "snapshot-1"
        told = self.info(taken)["slow_step"]
        self.assertEqual(told["slow_step"], 30)
        self.assertGreaterEqual(told["length_ns"], 500e6)
        report = self.report(taken)
        self.assertGreaterEqual(report["run"]["slow_step"]["length_ms"], 500)
        self.assertGreater(report["steps"]["count"], 30, "it holds the slow step")
        text = subprocess.run([GPUWITNESS, "report", taken], capture_output=True, text=True).stdout
        self.assertIn("taken for a slow step", text)
        self.assertNotIn("slow_step", self.info())

    def test_none(self):
        self.assertEqual(self.snapshots(-1), [])


if __name__ == "__main__":
    main()
