#!/usr/bin/env python3
"""Runs `gpuwitness record` so that only a part of the program's time is recorded."""
import csv
import json
import pathlib
import signal
import subprocess
import unittest

from harness import GPUWITNESS, PATIENCE_S, TICKER, Recorded, main, wait_until

EXAMPLE = pathlib.Path(GPUWITNESS).parent.parent / "examples" / "train_loop"


class Windowed(Recorded):
    def windows(self):
        return self.info()["windows"]

    def wait_open(self, count):
        wait_until(lambda: len(self.windows()) == count and self.windows()[-1][1] is None, f"window {count} opens")

    def wait_closed(self, count):
        wait_until(lambda: len(self.windows()) == count and self.windows()[-1][1] is not None, f"window {count} closes")

    def end(self, process):
        process.terminate()
        out, err = process.communicate(timeout=PATIENCE_S)
        self.assertEqual((process.returncode, err), (40, ""))
        return out


class Windows(Windowed):
    def test_nothing_before_the_delay(self):
        self.assertEqual(self.record(TICKER, "1000", options=("-q", "--delay=1h")).returncode, 0)
        self.assertEqual((self.windows(), self.events()), ([], 0))
        self.assertTrue(self.info()["complete"])

    def test_delay(self):
        process = self.start_ticker(1000, options=("-q", "--delay=300ms"))
        self.wait_open(1)
        self.end(process)
        self.assertEqual(self.events(), 1000)
        self.wait_closed(1)

    def test_duration(self):
        process = self.start_ticker(1000, options=("-q", "--duration=300ms"))
        self.wait_closed(1)
        self.end(process)
        self.assertEqual(self.events(), 1000)
        (begin, end), = self.windows()
        self.assertGreaterEqual(end - begin, 300e6)

    def test_signal(self):
        process = self.start_ticker(1000, options=("-q", "--attach-on-signal"))
        for count in (1, 2):
            process.send_signal(signal.SIGUSR2)
            self.wait_open(count)
            process.send_signal(signal.SIGUSR2)
            self.wait_closed(count)
        process.send_signal(signal.SIGUSR2)
        self.wait_open(3)
        self.assertIn("USR2 0\n", self.end(process), "the signal is the recorder's")
        self.assertEqual(self.events(), 1000)
        times = [time for window in self.windows() for time in window]
        self.assertEqual(times, sorted(times))

    def test_signal_and_duration(self):
        process = self.start_ticker(1000, options=("-q", "--attach-on-signal", "--duration=20ms"))
        for count in (1, 2):
            process.send_signal(signal.SIGUSR2)
            self.wait_closed(count)
        self.end(process)
        self.assertEqual(self.events(), 0)

    def test_refused(self):
        for options in (["--delay=1s", "--attach-on-signal"], ["--delay=soon"], ["--duration=5"], ["--delay=0s"],
                        ["--delay=-1s"], ["--duration=1e99h"]):
            done = self.record("true", options=("-q", *options))
            self.assertEqual((done.returncode, done.stderr.count(b"\n")), (2, 1), done.stderr)
        self.assertFalse(self.run_dir.exists())


class WindowOfAProgram(Windowed):
    """A window of a program on the simulated GPU, compared with the simulated GPU's own log."""

    def table(self, name):
        with open(self.base / "csv" / name, newline="") as file:
            return list(csv.DictReader(file))

    def truth(self):
        (log,) = self.base.glob("truth.*.csv")
        return [line.split(",") for line in log.read_text().splitlines() if line.startswith("call,")]

    def test_everything_inside_nothing_outside(self):
        config = self.base / "simgpu.conf"
        config.write_text(f"truth {self.base}/truth\n")
        process = self.start("stdbuf", "-oL", str(EXAMPLE), "--steps", "1500",
                             options=("-q", f"--simgpu={config}", "--attach-on-signal"))
        read = 0
        for count, lines in ((1, 4), (1, 30), (2, 10), (2, 30)):
            for _ in range(lines):
                read += process.stdout.readline() != ""
            process.send_signal(signal.SIGUSR2)
            self.wait_closed(count) if lines == 30 else self.wait_open(count)
        out, err = process.communicate(timeout=PATIENCE_S)
        self.assertEqual((process.returncode, err), (0, ""))
        windows = self.windows()
        self.assertEqual(len(windows), 2)
        done = subprocess.run([GPUWITNESS, "export", "--format", "csv", "-o", self.base / "csv", self.run_dir],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)

        # Outermost calls that lie in a window as a whole; one microsecond of it is the wrapper's own.
        expected = [row for row in self.truth() if row[2] == "1" and any(
            begin + 1000 < int(row[4]) and int(row[5]) < end - 1000 for begin, end in windows)]
        calls = [row for row in self.table("calls.csv") if row["depth"] == "1" and row["end_ns"] and any(
            begin + 1000 < int(row["begin_ns"]) and int(row["end_ns"]) < end - 1000 for begin, end in windows)]
        self.assertGreater(len(expected), 1000)
        self.assertLessEqual(abs(len(calls) - len(expected)), 4, "but for those at the four edges")

        # At an edge an operation's times can lie inside and its call outside.
        kernels = [row for row in self.table("ops.csv") if row["kind"] == "kernel"]
        self.assertTrue(all(row["name"] for row in kernels if row["call_id"]))
        self.assertLessEqual(sum(not row["name"] for row in kernels), 8)
        steps = self.table("steps.csv")
        self.assertGreater(len(steps), 10)
        for step in steps:
            self.assertTrue(any(begin <= int(step["begin_ns"]) and int(step["end_ns"]) <= end
                                for begin, end in windows), step)
        done = subprocess.run([GPUWITNESS, "report", "--json", self.run_dir], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        report = json.loads(done.stdout)
        self.assertEqual({lost["reason"] for lost in report["coverage"]["lost_ranges"]}, {"outside the windows"})
        self.assertEqual(report["coverage"]["lost_events"], 0)

    def test_killed_in_a_window(self):
        process = self.start("stdbuf", "-oL", str(EXAMPLE), "--steps", "1000000",
                             options=("-q", "--simgpu", "--attach-on-signal"))
        self.assertTrue(process.stdout.readline())
        process.send_signal(signal.SIGUSR2)
        self.wait_open(1)
        for _ in range(30):
            self.assertTrue(process.stdout.readline())
        self.kill_everything(process)
        done = subprocess.run([GPUWITNESS, "report", "--json", self.run_dir], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertGreater(json.loads(done.stdout)["steps"]["count"], 10)
        (begin, end), = self.windows()
        self.assertIsNone(end)
        outside = [lost for lost in json.loads(done.stdout)["coverage"]["lost_ranges"]
                   if lost["reason"] == "outside the windows"]
        self.assertEqual(len(outside), 1)
        self.assertGreaterEqual(outside[0]["end_ns"], begin)


if __name__ == "__main__":
    main()
