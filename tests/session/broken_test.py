#!/usr/bin/env python3
"""Runs `gpuwitness record` where things break: full disks, killed processes, orphans."""
import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import unittest

from harness import GPUWITNESS, MOUNT_NAMESPACE, PATIENCE_S, RECOVER_RUN, TICKER, Recorded, can_mount, descendants, main, processes, wait_until


@unittest.skipUnless(can_mount(), "no private mount namespace with a file system of its own can be made here")
class Space(Recorded):
    def in_namespace(self, mounts, *program, options=("-q",)):
        script = "; ".join(f"mount -t tmpfs -o size={size} none '{place}' || exit 99" for place, size in mounts)
        script += f"; cd '{self.base}'; \"$@\"; s=$?; cp -r '{self.run_dir}' '{self.base}/kept' 2>/dev/null; exit $s"
        return subprocess.run([*MOUNT_NAMESPACE, "sh", "-c", script, "sh", *self.command(*program, options=options)],
                              capture_output=True, text=True, timeout=2 * PATIENCE_S)

    def test_small_shared_memory(self):
        done = self.in_namespace([("/dev/shm", "1m")], TICKER, "1000")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertTrue(self.info()["buffers"]["path"].startswith(str(self.run_dir.resolve())))
        self.assertEqual(self.events(), 1000)

    def test_shared_memory_of_a_container(self):
        """Docker's default."""
        done = self.in_namespace([("/dev/shm", "64m")], TICKER, "1000")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(self.events(), 1000)

    def test_no_room_for_buffers(self):
        small = self.base / "small"
        small.mkdir()
        self.run_dir = small / "run"
        done = self.in_namespace([("/dev/shm", "1m"), (small, "1m")], "true")
        self.assertEqual(done.returncode, 125, done.stderr)
        self.assertRegex(done.stderr, r"^gpuwitness record: no room for the trace buffers of .*--buffer-size\n$")
        self.assertFalse((self.base / "kept").exists())

    def test_disk_full(self):
        small = self.base / "small"
        small.mkdir()
        self.run_dir = small / "run"
        done = self.in_namespace([("/dev/shm", "256m"), (small, "4m")], TICKER, "500000")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("the disk is full", done.stderr)
        self.assertNotIn("0 events lost", done.stderr)
        kept = self.base / "kept"
        self.assertEqual(self.info(kept)["schema"], "gpuwitness.run/1")
        read = subprocess.run(["babeltrace2", str(kept / "trace")], capture_output=True, text=True)
        self.assertGreater(read.stdout.count("gpuwitness:tick"), 1000)


class MixedBuilds(Recorded):
    def test_library_of_another_build(self):
        """It numbers functions otherwise than the recorder, which writes down their names."""
        built, mixed = pathlib.Path(GPUWITNESS).parent.parent, self.base / "mixed"
        for folder in ("bin", "lib"):
            (mixed / folder).mkdir(parents=True)
        shutil.copy(GPUWITNESS, mixed / "bin")
        for part in (built / "lib").iterdir():
            (mixed / "lib" / part.name).symlink_to(part)
        library = mixed / "lib" / "libgpuwitness-shim.so"
        code = library.read_bytes()
        library.unlink()
        mark = b"gpuwitness functions "
        self.assertEqual(code.count(mark), 1)
        at = code.index(mark) + len(mark)
        library.write_bytes(code[:at] + bytes(reversed(code[at:at + 16])) + code[at + 16:])
        library.chmod(0o755)
        tool = str(mixed / "bin" / "gpuwitness")
        done = subprocess.run([tool, "record", "-o", self.run_dir, "--", "true"], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (125, (
            f"gpuwitness record: {library} is of another build than gpuwitness, functions would be misnamed: "
            "install both from one build\n")))
        self.assertFalse(self.run_dir.exists())
        self.assertIn("of another build", subprocess.run([tool, "doctor"], capture_output=True, text=True).stdout)


class NotSeen(Recorded):
    def test_children_without_the_library(self):
        """They live for longer than the recorder takes to look twice."""
        source = self.base / "static.c"
        source.write_text("#include <unistd.h>\nint main(void) { return sleep(2); }\n")
        static = self.base / "static-program"
        subprocess.run(["cc", "-static", "-o", static, source], check=True)
        script = f"{static} & env -u LD_PRELOAD sleep 2 & sleep 2 & sh -c 'sleep 2; true' & wait"
        done = self.record("sh", "-c", script)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        lines = self.info()["not_seen"]
        self.assertEqual(len(lines), 2, lines)
        self.assertRegex("\n".join(sorted(lines, key=lambda line: line.split("(")[1])),
                         r"^process \d+ \(sleep\): LD_PRELOAD was taken out of its environment\n"
                         r"process \d+ \(static-program\): its program is linked statically$")
        report = subprocess.run([GPUWITNESS, "report", "--json", self.run_dir], capture_output=True, text=True)
        self.assertEqual(json.loads(report.stdout)["coverage"]["processes"]["not_seen"], lines)
        report = subprocess.run([GPUWITNESS, "report", self.run_dir], capture_output=True, text=True)
        self.assertRegex(report.stdout, r"not seen +process \d+ \(s")


class Killed(Recorded):
    def kill_ticker(self, pids):
        for pid in pids:
            if TICKER in processes().get(pid, ""):
                os.kill(pid, signal.SIGKILL)

    def test_recorder(self):
        process = self.start_ticker(1000)
        below = descendants(process.pid)
        keeper = self.keeper_of(process)
        process.kill()
        process.wait(PATIENCE_S)
        wait_until(lambda: keeper not in processes(), "the session ends by itself")
        self.assertEqual([p for p in below if "lttng" in processes().get(p, "")], [])
        self.kill_ticker(below)
        info = self.info()
        self.assertEqual((info["complete"], info["exit"]["how"]), (True, "recorder-died"))
        self.assertEqual(info["problems"], ["the recorder was killed: how the program ended is not known"])
        self.assertEqual(self.events(), 1000)
        self.assertFalse(pathlib.Path(info["buffers"]["path"]).exists())

    def test_everything(self):
        process = self.start_ticker(1000)
        self.assertEqual(subprocess.run([RECOVER_RUN, self.run_dir], capture_output=True, text=True).stdout,
                         "Device or resource busy\n")
        self.kill_everything(process)
        self.assertFalse(self.info()["complete"])
        done = subprocess.run([RECOVER_RUN, self.run_dir], capture_output=True, text=True)
        self.assertEqual(done.stdout, "readable\n")
        self.assertEqual(self.events(), 1000)
        self.assertEqual(len(self.info()["problems"]), 1)
        self.assertFalse(pathlib.Path(self.info()["buffers"]["path"]).exists())
        done = subprocess.run([RECOVER_RUN, self.run_dir], capture_output=True, text=True)
        self.assertEqual(done.stdout, "readable\n")
        self.assertEqual({path.name for path in self.run_dir.iterdir()},
                         {"run.json", "trace", "functions.txt", "session.log"})

    def test_what_is_left_is_removed(self):
        """By the next recording, when nothing is in it that is not in the run; until then doctor tells of it."""
        def record_another():
            another = self.base / f"another-{len(list(self.base.iterdir()))}"
            done = subprocess.run([GPUWITNESS, "record", "-q", "-o", another, "--", "true"], capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stderr), (0, ""))

        alive = self.start_ticker(1000)
        alive_home = self.clear_home_later(self.keeper_of(alive))
        alive_run, self.run_dir = self.run_dir, self.base / "killed"
        home = self.kill_everything(self.start_ticker(1000))
        buffers = pathlib.Path(self.info()["buffers"]["path"])
        record_another()
        self.assertTrue(home.exists() and buffers.exists())
        doctor = subprocess.run([GPUWITNESS, "doctor"], capture_output=True, text=True)
        self.assertIn(f"of a recording that was killed: gpuwitness report {self.run_dir} takes it", doctor.stdout)
        subprocess.run([RECOVER_RUN, self.run_dir], capture_output=True, check=True)
        self.assertEqual(self.events(), 1000)
        record_another()
        self.assertFalse(home.exists() or buffers.exists())

        self.run_dir = self.base / "killed-too"
        home = self.kill_everything(self.start_ticker(1000))
        buffers = pathlib.Path(self.info()["buffers"]["path"])
        self.addCleanup(shutil.rmtree, buffers, ignore_errors=True)
        self.run_dir.rename(self.base / "renamed")
        record_another()
        self.assertTrue(buffers.exists())
        doctor = subprocess.run([GPUWITNESS, "doctor"], capture_output=True, text=True)
        self.assertIn(f"whose run is gone, {self.run_dir}: rm -r {buffers} {home}", doctor.stdout)

        self.assertTrue(pathlib.Path(alive_home).exists())
        self.run_dir = alive_run
        alive.terminate()
        alive.communicate(timeout=PATIENCE_S)
        self.assertGreaterEqual(self.events(), 1000)

    def test_report_reads_a_killed_run(self):
        """The calls of a program that was killed together with everything that recorded it."""
        example = pathlib.Path(GPUWITNESS).parent.parent / "examples" / "train_loop"
        process = self.start(str(example), "--steps", "1000000", options=("-q", "--simgpu"))
        for _ in range(4):
            self.assertTrue(process.stdout.readline())
        self.kill_everything(process)
        done = subprocess.run([GPUWITNESS, "report", "--json", self.run_dir], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        json.loads(done.stdout)
        self.assertTrue(self.info()["recovered"])

    def test_run_of_a_stranger(self):
        """Recovering ends in removing the buffers: nothing else may be named there."""
        self.run_dir.mkdir()
        victim = self.base / "gpuwitness-victim"
        victim.mkdir()
        (self.run_dir / "run.json").write_text(json.dumps(
            {"schema": "gpuwitness.run/1", "complete": False, "buffers": {"path": str(victim)}}))
        done = subprocess.run([RECOVER_RUN, self.run_dir], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout), (1, "Invalid argument\n"))
        self.assertTrue(victim.exists())

    def test_session_daemon(self):
        process = self.start_ticker(1000)
        for pid in descendants(process.pid):
            if "lttng-sessiond" in processes().get(pid, ""):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        process.terminate()
        out, err = process.communicate(timeout=PATIENCE_S)
        self.assertEqual(process.returncode, 40)
        self.assertIn("did not end properly", err)
        self.assertGreaterEqual(self.events(), 1000)

    def test_program_while_it_writes(self):
        """One process blocks a CPU's buffer; what was in it before is kept, and that something is missing is said."""
        done = self.record("sh", "-c", f"taskset -c 0 {TICKER} 1000 tear; taskset -c 0 {TICKER} 500; exit 0")
        self.assertEqual(done.returncode, 0)
        self.assertIn(b"died while it wrote an event", done.stderr)
        self.assertGreaterEqual(self.events(), 1000)
        self.assertTrue(self.info()["complete"])

    def test_session_process(self):
        process = self.start_ticker(1000)
        keeper = self.keeper_of(process)
        self.clear_home_later(keeper)
        os.kill(keeper, signal.SIGKILL)
        process.terminate()
        out, err = process.communicate(timeout=PATIENCE_S)
        self.assertEqual(process.returncode, 40)
        self.assertIn("recovers what it can", err)
        done = subprocess.run([RECOVER_RUN, self.run_dir], capture_output=True, text=True)
        self.assertEqual(done.stdout, "readable\n")
        self.assertGreaterEqual(self.events(), 1000)


class Descendants(Recorded):
    def test_orphan_is_recorded_to_its_end(self):
        done = self.record("sh", "-c", f"setsid {TICKER} 1000 & exit 3")
        self.assertEqual(done.returncode, 3)
        self.assertEqual(self.events(), 1000)
        self.assertEqual(self.info()["left_running"], [])

    def test_orphan_that_stays(self):
        process = self.start("sh", "-c", "sleep 1000 >/dev/null 2>&1 & "
                             "until grep -q sleep /proc/$!/comm; do :; done; exit 3", options=())
        self.assertIn("left 1 process running", process.stderr.readline())
        process.terminate()
        out, err = process.communicate(timeout=PATIENCE_S)
        self.assertEqual(process.returncode, 3)
        self.assertIn("1 process of the program is still running", err)
        (left,) = self.info()["left_running"]
        self.assertEqual(left["name"], "sleep")
        os.kill(left["pid"], signal.SIGKILL)


if __name__ == "__main__":
    main()
