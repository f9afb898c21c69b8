"""What the tests of the recorder share. Each is called with GPUWITNESS TICKER RECOVER_RUN [GROUP…]."""
import contextlib
import json
import os
import pathlib
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

GPUWITNESS, TICKER, RECOVER_RUN = sys.argv[1:4]
PATIENCE_S = 30
MOUNT_NAMESPACE = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-Urm"]


def wait_until(condition, what):
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"waited in vain: {what}")
        select.select([], [], [], 0.005)


def processes():
    """{pid: command line} of everything that can be seen."""
    found = {}
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                if command:
                    found[int(entry.name)] = command
    return found


def parents():
    found = {}
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                found[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
    return found


def descendants(pid):
    tree = parents()
    below, grew = {pid}, True
    while grew:
        more = {child for child, parent in tree.items() if parent in below} - below
        below |= more
        grew = bool(more)
    return below - {pid}


def can_mount():
    return subprocess.run([*MOUNT_NAMESPACE, "mount", "-t", "tmpfs", "none", "/dev/shm"],
                          capture_output=True).returncode == 0


class Recorded(unittest.TestCase):
    def setUp(self):
        self.base = pathlib.Path(tempfile.mkdtemp(prefix="gpuwitness-test-"))
        self.run_dir = self.base / "run"
        self.strays = []

    def tearDown(self):
        for process in self.strays:
            if process.poll() is None: # a test failed half-way: the program too, it holds the pipes open
                for pid in [process.pid, *descendants(process.pid)]:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
            process.communicate()
        failed = any(problem for test, problem in self._outcome.result.failures + self._outcome.result.errors
                     if test is self)
        if failed:
            print(f"kept: {self.base}", file=sys.stderr)
        else:
            shutil.rmtree(self.base, ignore_errors=True)

    def command(self, *program, options=("-q",)):
        return [GPUWITNESS, "record", *options, "-o", str(self.run_dir), "--", *program]

    def record(self, *program, options=("-q",), **more):
        return subprocess.run(self.command(*program, options=options), capture_output=True, timeout=PATIENCE_S, **more)

    def start(self, *program, options=("-q",), **more):
        process = subprocess.Popen(self.command(*program, options=options), stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)
        self.strays.append(process)
        return process

    def start_ticker(self, count, options=("-q",), **more):
        process = self.start(TICKER, str(count), "wait", options=options, **more)
        self.assertEqual(process.stdout.readline(), "ready\n", "the ticker starts")
        return process

    def keeper_of(self, process):
        (keeper,) = [pid for pid in descendants(process.pid) if "gpuwitness-session" in processes().get(pid, "")]
        return keeper

    def clear_home_later(self, pid):
        """A killed session process leaves its sockets' directory."""
        environment = pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        (home,) = [entry[11:].decode() for entry in environment if entry.startswith(b"LTTNG_HOME=")]
        self.addCleanup(shutil.rmtree, home, ignore_errors=True)
        return home

    def kill_everything(self, process):
        """The recorder, its daemons and the program, as when a machine's memory runs out."""
        below = descendants(process.pid)
        keeper = self.keeper_of(process)
        home = self.clear_home_later(keeper)
        for pid in [keeper, process.pid, *below]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        process.wait(PATIENCE_S)
        wait_until(lambda: not any(pid in processes() for pid in below), "all are gone")
        return pathlib.Path(home)

    def info(self, run=None):
        return json.loads(((run or self.run_dir) / "run.json").read_text())

    def events(self, run=None):
        done = subprocess.run(["babeltrace2", str((run or self.run_dir) / "trace")], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.count("gpuwitness:tick")


def main():
    names = [f"__main__.{name}" for name in sys.argv[4:]]
    suite = unittest.defaultTestLoader.loadTestsFromNames(names) if names else \
        unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"])
    result = unittest.TextTestRunner(verbosity=2).run(suite)
    if result.testsRun and len(result.skipped) == result.testsRun:
        print("skipped all")
    sys.exit(0 if result.wasSuccessful() else 1)
