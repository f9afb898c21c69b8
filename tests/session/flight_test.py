#!/usr/bin/env python3
"""Runs `gpuwitness record --flight-recorder`: only the last events are kept."""
import contextlib
import json
import os
import pathlib
import signal
import subprocess
from csv import DictReader

from harness import GPUWITNESS, PATIENCE_S, RECOVER_RUN, TICKER, Recorded, descendants, main, processes, wait_until

EXAMPLE = pathlib.Path(GPUWITNESS).parent.parent / "examples" / "train_loop"
CPU = str(min(os.sched_getaffinity(0)))
OPTIONS = ("-q", "--flight-recorder=10s")


class FlightRecorder(Recorded):
    def numbers(self, run=None):
        done = subprocess.run(["babeltrace2", str((run or self.run_dir) / "trace")], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return [int(line.rpartition("number = ")[2].rstrip(" }")) for line in done.stdout.splitlines() if "tick" in line]

    def report(self, run=None):
        done = subprocess.run([GPUWITNESS, "report", "--json", run or self.run_dir], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def snapshot(self, process, number):
        process.send_signal(signal.SIGUSR2)
        taken = self.run_dir / f"snapshot-{number}"
        wait_until((taken / "run.json").exists, "the snapshot is written")
        return taken

    def test_all_when_it_fits(self):
        self.assertEqual(self.record(TICKER, "1000", options=OPTIONS).returncode, 0)
        self.assertEqual(self.numbers(), list(range(1000)))

    def test_the_last_events(self):
        done = self.record("taskset", "-c", CPU, TICKER, "100000", options=(*OPTIONS, "--buffer-size=64K"))
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        numbers = self.numbers()
        self.assertGreater(len(numbers), 1000)
        self.assertEqual(numbers, list(range(100000 - len(numbers), 100000)))
        self.assertFalse(pathlib.Path(self.info()["buffers"]["path"]).exists())

    def test_nothing_recorded(self):
        done = self.record("true", options=OPTIONS)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertTrue(self.info()["complete"])
        self.report()

    def test_snapshots(self):
        process = self.start_ticker(1000, options=OPTIONS)
        for number in (1, 2):
            taken = self.snapshot(process, number)
            self.assertEqual(self.numbers(taken), list(range(1000)))
            info = self.info(taken)
            self.assertEqual((info["complete"], info["exit"]), (True, {"how": "running"}))
        process.terminate()
        out, err = process.communicate(timeout=PATIENCE_S)
        self.assertEqual((process.returncode, err), (40, ""))
        self.assertIn("USR2 0\n", out)
        self.assertEqual(self.numbers(), 2 * list(range(1000)))

    def test_everything_killed(self):
        process = self.start_ticker(1000, options=OPTIONS)
        self.kill_everything(process)
        done = subprocess.run([RECOVER_RUN, self.run_dir], capture_output=True, text=True)
        self.assertEqual(done.stdout, "readable\n")
        self.assertEqual(self.numbers(), list(range(1000)))

    def test_session_daemon_killed(self):
        """Its consumer then tears the buffers down."""
        process = self.start_ticker(1000, options=OPTIONS)
        below = descendants(process.pid)
        for pid in below:
            if "lttng-sessiond" in processes().get(pid, ""):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        daemons = [pid for pid in below if "lttng-" in processes().get(pid, "")]
        wait_until(lambda: not any("lttng-" in processes().get(pid, "") for pid in daemons), "the consumer is gone, too")
        process.terminate()
        out, err = process.communicate(timeout=PATIENCE_S)
        self.assertEqual(process.returncode, 40)
        self.assertIn("did not end properly", err)
        self.assertEqual(self.numbers()[:1000], list(range(1000)))
        self.assertFalse(pathlib.Path(self.info()["buffers"]["path"]).exists())

    def test_program(self):
        """What a program said of itself long ago is there; what was overwritten is no loss, and in no step."""
        process = self.start("taskset", "-c", CPU, "stdbuf", "-oL", str(EXAMPLE), "--steps", "1000",
                             options=(*OPTIONS, "--simgpu", "--buffer-size=512K"))
        for _ in range(50):
            self.assertTrue(process.stdout.readline())
        taken = self.snapshot(process, 1)
        out, err = process.communicate(timeout=PATIENCE_S)
        self.assertEqual((process.returncode, err), (0, ""))
        for run in (taken, self.run_dir):
            report = self.report(run)
            lost = [item for item in report["coverage"]["lost_ranges"] if item["reason"] == "let go"]
            self.assertTrue(lost)
            self.assertEqual(report["coverage"]["lost_events"], 0)
            self.assertGreater(report["steps"]["count"], 10)
            csv = self.base / f"csv-{run.name}"
            subprocess.run([GPUWITNESS, "export", "--format", "csv", "-o", csv, run], check=True)
            with open(csv / "ops.csv", newline="") as file:
                kernels = [row for row in DictReader(file) if row["kind"] == "kernel" and row["call_id"]]
            self.assertGreater(len(kernels), 100)
            self.assertTrue(all(row["name"] for row in kernels))
            for line in (csv / "steps.csv").read_text().splitlines()[1:]:
                self.assertGreaterEqual(int(line.split(",")[2]), max(item["end_ns"] for item in lost))
        text = subprocess.run([GPUWITNESS, "report", self.run_dir], capture_output=True, text=True).stdout
        self.assertIn("larger --buffer-size", text)

    def test_refused(self):
        for options in (["--delay=1s"], ["--duration=1s"], ["--attach-on-signal"]):
            done = self.record("true", options=(*OPTIONS, *options))
            self.assertEqual((done.returncode, done.stderr.count(b"\n")), (2, 1), done.stderr)
            self.assertIn(b"excludes", done.stderr)


if __name__ == "__main__":
    main()
