#!/usr/bin/env python3
"""Programs that die, hang or write more than can be kept; the simulated GPU's own log says what they did."""
import contextlib
import json
import os
import pathlib
import re
import signal
import subprocess
from csv import DictReader

from harness import GPUWITNESS, PATIENCE_S, TICKER, Recorded, descendants, main, processes, wait_until

FLOOD = str(pathlib.Path(TICKER).with_name("gw_flood"))
EXAMPLE = str(pathlib.Path(GPUWITNESS).parent.parent / "examples" / "train_loop")
# Calls the runtime, then wants all the memory there is.
HOG = """
import ctypes
runtime = ctypes.CDLL("libcudart.so.13")
for _ in range(1000):
    runtime.cudaSetDevice(0)
taken = []
while True:
    taken.append(bytearray(b"x") * (8 << 20))
"""
CLOCK_NANOSLEEP = {"230", "115"}  # on x86-64, on aarch64


class OnSimulatedGpu(Recorded):
    def start_there(self, *program, settings="", options=(), **more):
        config = self.base / "simgpu.conf"
        config.write_text(f"truth {self.run_dir}.truth\n{settings}")
        process = subprocess.Popen(self.command(*program, options=("-q", f"--simgpu={config}", *options)),
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   **more)
        self.strays.append(process)
        return process

    def finish(self, process, given=None):
        out, err = process.communicate(given, timeout=4 * PATIENCE_S)
        return process.returncode, err

    def pid_of(self, recorder, program):
        def found():
            return [pid for pid in descendants(recorder.pid) if processes().get(pid, "").startswith(program)]

        wait_until(found, "the program runs")
        return found()[0]

    def truth(self, only=None):
        return sum(line.startswith("call,") and not line.startswith("call,tid,") and (only is None or f",{only}," in line)
                   for log in self.base.glob(f"{self.run_dir.name}.truth.*.csv")
                   for line in log.read_text().splitlines())

    def recorded(self):
        """Events by name, and all of them."""
        done = subprocess.run(["babeltrace2", str(self.run_dir / "trace")],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return re.findall(r"gpuwitness:(\w+)", done.stdout)

    def report(self):
        done = subprocess.run([GPUWITNESS, "report", "--json", self.run_dir], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def report_text(self):
        done = subprocess.run([GPUWITNESS, "report", self.run_dir], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return " ".join(done.stdout.split())

    def calls(self):
        subprocess.run([GPUWITNESS, "export", "--format", "csv", "-o", self.base / "csv", self.run_dir], check=True)
        with open(self.base / "csv" / "calls.csv", newline="") as file:
            return list(DictReader(file))


class Overload(OnSimulatedGpu):
    # A gap between calls would be an event more, whenever the machine is busy.
    ENVIRONMENT = {**os.environ, "GPUWITNESS_GAP_US": "1000000000"}

    def flood(self, processes_wanted, threads, calls, *options):
        process = self.start_there(FLOOD, str(processes_wanted), str(threads), str(calls), options=options,
                                   env=self.ENVIRONMENT)
        for _ in range(max(processes_wanted, 1)):
            self.assertEqual(process.stdout.readline(), "ready\n")
        return process

    def own_times(self, calls, threads):
        """Events of a process that tell what recording costs it, beside those for its calls: one call of a thread in 61
        is measured, and the sums are written when their number is a power of two or a multiple of 1024."""
        measured = range(1, calls // 61 * threads + 1)
        return sum(number & (number - 1) == 0 or number % 1024 == 0 for number in measured)

    def count_others(self, processes_wanted, threads):
        """Events that are no calls, of as many processes and threads."""
        self.run_dir = self.base / "few"
        process = self.flood(processes_wanted, threads, 3)
        self.assertEqual(self.finish(process, "\n" * max(processes_wanted, 2)), (0, ""))
        events = self.recorded()
        self.assertEqual(events.count("call"), self.truth())
        self.run_dir = self.base / "run"
        return len(events) - events.count("call")

    def test_buffers_overrun(self):
        """The consumer stands still while two threads write more than the buffers hold."""
        others = self.count_others(0, 2)
        process = self.flood(0, 2, 20000, "--buffer-size=64K")
        consumers = [pid for pid in descendants(process.pid) if "lttng-consumerd" in processes().get(pid, "")]
        self.assertTrue(consumers)
        for pid in consumers:
            os.kill(pid, signal.SIGSTOP)
        process.stdin.write("\n")
        process.stdin.flush()
        self.assertEqual(process.stdout.readline(), "done\n")
        for pid in consumers:
            os.kill(pid, signal.SIGCONT)
        self.assertEqual(self.finish(process, "\n"), (0, ""))
        lost = self.info()["events_discarded"]
        self.assertGreater(lost, 10000)
        self.assertEqual(self.truth("cuDriverGetVersion"), 40001)
        self.assertEqual(len(self.recorded()) + lost, self.truth() + others + self.own_times(20000, 2))
        coverage = self.report()["coverage"]
        self.assertEqual(coverage["lost_events"], lost)
        self.assertEqual(sum(item["count"] for item in coverage["lost_ranges"]), lost)
        self.assertTrue(all(item["begin_ns"] < item["end_ns"] for item in coverage["lost_ranges"] if item["count"]))
        self.assertIn(f"{lost} events in", self.report_text())

    def test_many_processes_and_threads(self):
        others = self.count_others(8, 8)
        process = self.flood(8, 8, 2500)
        self.assertEqual(self.finish(process, "\n" * 8), (0, ""))
        self.assertEqual(self.truth("cuDriverGetVersion"), 8 * (8 * 2500 + 1))
        lost = self.info()["events_discarded"]
        self.assertEqual(len(self.recorded()) + lost, self.truth() + others + 8 * self.own_times(2500, 8))
        if lost == 0:
            by_thread = {}
            for call in self.calls():
                if call["name"] != "cuDriverGetVersion":
                    continue  # a library's own, of the simulated GPU's
                by_thread.setdefault((call["process"], call["tid"]), []).append(call)
            self.assertEqual(sorted(len(calls) for calls in by_thread.values()), [1] * 8 + [2500] * 64)


class Deaths(OnSimulatedGpu):
    def start_hanging(self, *options):
        """A program that waits for a kernel that takes an hour. Returns its recorder and its process id."""
        process = self.start_there(EXAMPLE, "--steps", "5", settings="slowdown 0 10000000\n", options=options)
        pid = self.pid_of(process, EXAMPLE)

        def sleeps():
            """In the simulated driver, which nobody else does in this program."""
            with contextlib.suppress(OSError):
                return pathlib.Path(f"/proc/{pid}/syscall").read_text().split()[0] in CLOCK_NANOSLEEP
            return False

        wait_until(sleeps, "the program waits for a kernel")
        return process, pid

    def test_hang(self):
        process, pid = self.start_hanging()
        os.kill(pid, signal.SIGKILL)
        self.assertEqual(self.finish(process), (137, ""))
        self.assertRegex(self.report_text(), r"hanging cuda\w+ on thread \d+ never returned: entered at")
        unfinished = [call for call in self.calls() if call["end_ns"] == ""]
        self.assertEqual(len(unfinished), 1)

    def test_snapshot_of_a_hang(self):
        process, pid = self.start_hanging("--flight-recorder=10s")
        process.send_signal(signal.SIGUSR2)
        recorded, self.run_dir = self.run_dir, self.run_dir / "snapshot-1"
        wait_until((self.run_dir / "run.json").exists, "the snapshot is written")
        self.assertRegex(self.report_text(), r"hanging cuda\w+ on thread \d+ had not returned: entered at")
        self.run_dir = recorded
        os.kill(pid, signal.SIGKILL)
        self.assertEqual(self.finish(process), (137, ""))
        self.assertRegex(self.report_text(), r"hanging cuda\w+ on thread \d+ never returned: entered at")

    def death(self, number):
        process = self.start_there("stdbuf", "-oL", EXAMPLE, "--steps", "1000000")
        for _ in range(4):
            self.assertTrue(process.stdout.readline())
        os.kill(self.pid_of(process, EXAMPLE), number)
        self.assertEqual(self.finish(process), (128 + number, ""))
        self.assertEqual((self.info()["complete"], self.info()["exit"]["how"]), (True, "signalled"))
        self.assertEqual(self.info()["events_discarded"], 0)
        self.assertGreaterEqual(self.report()["steps"]["count"], 20)

    def test_abort(self):
        self.death(signal.SIGABRT)

    def test_killed(self):
        self.death(signal.SIGKILL)

    def memory_group(self, limit_bytes):
        """A control group that holds so much memory; skips the test where none can be made."""
        root = pathlib.Path("/sys/fs/cgroup")
        old = (root / "memory").is_dir()
        group = (root / "memory" if old else root) / f"gpuwitness-test-{os.getpid()}"
        try:
            group.mkdir()
            self.addCleanup(lambda: wait_until(lambda: self.remove(group), "the control group is empty"))
            (group / ("memory.limit_in_bytes" if old else "memory.max")).write_text(str(limit_bytes))
        except OSError as error:
            self.skipTest(f"no control group for memory can be made: {error}")
        return group

    @staticmethod
    def remove(group):
        with contextlib.suppress(OSError):
            group.rmdir()
        return not group.exists()

    def test_memory_ran_out(self):
        """The kernel kills the program, in the middle of what it does: all its calls are there."""
        group = self.memory_group(256 << 20)
        process = self.start_there("sh", "-c", f"echo $$ >{group}/cgroup.procs && exec python3 -c '{HOG}'")
        status, err = self.finish(process)
        self.assertEqual((status, err), (128 + signal.SIGKILL, ""))
        self.assertEqual(self.info()["exit"]["how"], "signalled")
        self.assertEqual(len([call for call in self.calls() if call["name"] == "cudaSetDevice"]), 1000)

    def test_session_daemon_killed(self):
        process = self.start_there("stdbuf", "-oL", EXAMPLE, "--steps", "300")
        for _ in range(4):
            self.assertTrue(process.stdout.readline())
        for pid in descendants(process.pid):
            if "lttng-sessiond" in processes().get(pid, ""):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        status, err = self.finish(process)
        self.assertEqual(status, 0)
        self.assertIn("did not end properly", err)
        self.assertTrue(self.info()["complete"])
        self.assertGreaterEqual(self.report()["steps"]["count"], 20)


if __name__ == "__main__":
    main()
