#!/usr/bin/env python3
"""Runs `gpuwitness record` as a user does."""
import contextlib
import json
import os
import pathlib
import pty
import select
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

from harness import GPUWITNESS, PATIENCE_S, TICKER, Recorded, descendants, main, processes, wait_until


class ExitStatus(Recorded):
    def status(self, expected, *program, **more):
        done = self.record(*program, **more)
        self.assertEqual(done.returncode, expected, done.stderr)
        return done

    def test_exited(self):
        for status in (0, 1, 7, 125, 255):
            with self.subTest(status=status):
                self.run_dir = self.base / f"run{status}"
                self.status(status, "sh", "-c", f"exit {status}")
                self.assertEqual(self.info()["exit"], {"how": "exited", "status": status, "signal": 0})
                self.assertTrue(self.info()["complete"])

    def test_signalled(self):
        for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV, signal.SIGABRT):
            with self.subTest(signal=number):
                self.run_dir = self.base / f"run{int(number)}"
                self.status(128 + number, "sh", "-c", f"kill -{int(number)} $$")
                self.assertEqual(self.info()["exit"],
                                 {"how": "signalled", "status": 128 + number, "signal": int(number)})

    def test_not_found(self):
        done = self.status(127, "no-such-program")
        self.assertEqual(done.stderr, b"gpuwitness record: no-such-program: program not found\n")
        self.status(127, "./no/such/program")
        self.status(127, "")
        closed = self.base / "closed"
        closed.mkdir(mode=0)
        self.status(127, "no-such-program", env={**os.environ, "PATH": f"{closed}:{os.environ['PATH']}"})
        self.assertFalse(self.run_dir.exists())

    def test_not_executable(self):
        (self.base / "data").write_text("data")
        done = self.status(126, str(self.base / "data"))
        self.assertEqual(done.stderr.count(b"\n"), 1)
        self.status(126, str(self.base))
        self.assertFalse(self.run_dir.exists())

    def test_script_without_interpreter_line(self):
        script = self.base / "script"
        script.write_text("exit 9\n")
        script.chmod(0o755)
        self.status(9, str(script))


class CommandLine(Recorded):
    def complaint(self, *arguments, status=2):
        done = subprocess.run([GPUWITNESS, *arguments], capture_output=True, text=True, cwd=self.base)
        self.assertEqual(done.returncode, status, done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertEqual(list(self.base.iterdir()), [])
        return done.stderr

    def test_usage(self):
        self.assertIn("--help", self.complaint())
        self.assertIn("did you mean 'record'?", self.complaint("recrod"))
        self.assertIn("unknown verb 'xyzzy'", self.complaint("xyzzy"))
        self.assertIn("unknown option '--frob'", self.complaint("record", "--frob", "true"))
        self.assertIn("did you mean '--output'?", self.complaint("record", "--outptu=x", "true"))
        self.assertIn("'-o' needs a value", self.complaint("record", "-o"))
        self.assertIn("takes no value", self.complaint("record", "--quiet=yes", "true"))
        self.assertIn("no program", self.complaint("record"))
        self.assertIn("no program", self.complaint("record", "--"))
        self.assertIn("no 'maybe'", self.complaint("record", "--gpu-timing=maybe", "true"))
        for window in ("", "1s", "1s/", "/1s", "1s/1s", "2s/1s", "0s/1s", "1ms/1s", "x/1s"):
            self.assertIn("is not ON/PERIOD", self.complaint("record", f"--timing-window={window}", "true"))
        self.assertIn("which is off", self.complaint("record", "--timing-window=1s/2s", "--gpu-timing=off", "true"))
        for size in ("", "0", "1K", "x", "1X", "1MM", "-1", "99999999999999999999"):
            self.assertIn("buffer size", self.complaint("record", f"--buffer-size={size}", "true"))

    def test_cannot_record(self):
        self.assertIn("no room", self.complaint("record", "--buffer-size=9999999G", "true", status=125))

    def test_help(self):
        for arguments in (["--help"], ["--version"], ["record", "--help"], ["doctor", "--help"], ["demo", "--help"],
                          ["plot", "--help"], ["demo", "--simgpu-help"]):
            done = subprocess.run([GPUWITNESS, *arguments], capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertGreater(len(done.stdout), 50)
            self.assertNotIn("Mandatory or optional", done.stdout)

    def test_program_keeps_its_options(self):
        done = self.record("echo", "--help", "-o", "x", "--", "-q")
        self.assertEqual(done.stdout, b"--help -o x -- -q\n")

    def test_default_name_and_summary(self):
        done = subprocess.run([GPUWITNESS, "record", "true"], capture_output=True, text=True, cwd=self.base)
        (run,) = self.base.iterdir()
        self.assertRegex(run.name, r"^gpuwitness-true-\d{8}-\d{6}$")
        self.assertRegex(done.stderr, rf"^gpuwitness record: {run.name}: .*B, 0 events lost; "
                                      rf"next: gpuwitness report {run.name}\n$")


class Doctor(Recorded):
    def doctor(self, **more):
        return subprocess.run([GPUWITNESS, "doctor"], capture_output=True, text=True, cwd=self.base, **more)

    def test_machine_that_can_record(self):
        done = self.doctor()
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        self.assertNotIn("PROBLEM", done.stdout)
        self.assertRegex(done.stdout, r"ok +recording ")
        self.assertEqual(list(self.base.iterdir()), [])

    def test_nowhere_to_say_it(self):
        with open("/dev/full", "w") as full:
            done = subprocess.run([GPUWITNESS, "doctor"], stdout=full, stderr=subprocess.PIPE, text=True, cwd=self.base)
        self.assertEqual((done.returncode, done.stderr.count("\n")), (1, 1), done.stderr)

    def about(self, *program, status=0):
        """What the doctor says of a program, without what it says of the machine."""
        done = subprocess.run([GPUWITNESS, "doctor", *program], capture_output=True, text=True, cwd=self.base)
        self.assertEqual((done.returncode, done.stderr), (status, ""), done.stdout)
        lines = done.stdout.splitlines()
        first = min(i for i, line in enumerate(lines) if line[9:].startswith("program "))
        return "\n".join(lines[first:])

    def test_program(self):
        build = pathlib.Path(GPUWITNESS).parent.parent
        self.assertRegex(self.about("--", str(build / "examples" / "train_loop"), "--steps", "3"),
                         r"^ok +program .*dynamically\nok +CUDA runtime +linked as a shared library")
        self.assertRegex(self.about(str(build / "programs" / "default_stream_static")),
                         r"note +CUDA runtime +linked in statically")
        self.assertRegex(self.about("--", "env", "python3"), r"ok +CUDA runtime +not linked")
        self.assertRegex(self.about("no-such-program", status=1), r"^PROBLEM +program +no-such-program: not found$")

    def test_program_that_cannot_be_recorded(self):
        source = self.base / "empty.c"
        source.write_text("int main(void) { return 0; }\n")
        compiler = shutil.which("cc")
        if compiler and subprocess.run([compiler, "-static", "-o", self.base / "static", source],
                                       capture_output=True).returncode == 0:
            self.assertRegex(self.about(str(self.base / "static"), status=1), r"^PROBLEM +program .*statically")
        script = self.base / "script"
        script.write_text("#!/usr/bin/env -S no-such-interpreter -x\n")
        script.chmod(0o755)
        self.assertRegex(self.about(str(script), status=1), r"run by no-such-interpreter\nPROBLEM")
        if os.geteuid() == 0:
            other = self.base / "setuid"
            shutil.copy(shutil.which("true"), other)
            os.chown(other, 65533, 65533)
            other.chmod(0o4755)
            self.assertRegex(self.about(str(other), status=1), r"^PROBLEM +program .*other privileges")

    def test_machine_without_lttng(self):
        tools = self.base / "bin"
        tools.mkdir()
        (tools / "true").symlink_to(shutil.which("true"))
        done = self.doctor(env={"PATH": str(tools)})
        self.assertEqual((done.returncode, done.stderr), (1, ""))
        self.assertRegex(done.stdout, r"PROBLEM +lttng-sessiond +not found: install the package lttng-tools")
        self.assertRegex(done.stdout, r"PROBLEM +recording ")


class Installed(Recorded):
    """The command finds its parts in an installed tree, wherever that is."""

    def install(self, folder):
        build = pathlib.Path(GPUWITNESS).parent.parent
        done = subprocess.run(["cmake", "--install", str(build), "--prefix", str(self.base / folder)],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return self.base / folder / "bin" / "gpuwitness"

    def test_installed_tree(self):
        command = self.install("usr")
        done = subprocess.run([command, "demo", "-o", self.base / "demo"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("ld.so", done.stderr)
        self.assertGreater(len(list((self.base / "demo").glob("*.png"))), 0)
        self.assertEqual(self.info(self.base / "demo" / "run")["device"], "simulated")
        self.assertIn("SIMULATED GPU", (self.base / "demo" / "report.txt").read_text())
        report = json.loads((self.base / "demo" / "report.json").read_text())
        self.assertGreater(report["coverage"]["calls"], 0)

    def test_where_nothing_can_be_preloaded_from(self):
        """The dynamic linker would say so on the program's stderr, and nothing would be recorded."""
        for folder in ("usr local", "usr:local"):
            command = self.install(folder)
            done = subprocess.run([command, "record", "-o", self.base / "run", "--", "echo", "ran"],
                                  capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stdout), (125, ""))
            self.assertRegex(done.stderr, r"^gpuwitness record: .*libgpuwitness-shim\.so cannot be preloaded, [^\n]*\n$")
            self.assertFalse((self.base / "run").exists())
            done = subprocess.run([command, "doctor"], capture_output=True, text=True, cwd=self.base)
            self.assertEqual(done.returncode, 1)
            self.assertRegex(done.stdout, r"PROBLEM +preload library +.* has a space or a colon")

class Surroundings(Recorded):
    """The program sees what it would see without us, except the variables that the manual lists."""

    def test_streams(self):
        done = self.record("sh", "-c", "cat; echo out; echo err >&2", input=b"given\0bytes")
        self.assertEqual((done.stdout, done.stderr), (b"given\0bytesout\n", b"err\n"))

    def test_closed_streams(self):
        command = " ".join(f"'{word}'" for word in self.command("sh", "-c", "ls /proc/self/fd; echo $?"))
        plain = subprocess.run(["sh", "-c", "sh -c 'ls /proc/self/fd; echo $?' <&- 2>&-"], capture_output=True)
        done = subprocess.run(["sh", "-c", f"{command} <&- 2>&-"], capture_output=True)
        self.assertEqual(done.returncode, 0)
        self.assertEqual(done.stdout, plain.stdout)
        self.assertTrue(self.info()["complete"])

    def test_environment(self):
        environment = {**os.environ, "EMPTY": "", "SPACES": "a b\nc"}
        plain = subprocess.run(["env", "-0"], capture_output=True, env=environment).stdout.split(b"\0")
        seen = self.record("env", "-0", env=environment).stdout.split(b"\0")
        changed = {entry.split(b"=")[0] for entry in set(plain) ^ set(seen)}
        self.assertEqual(changed, {b"LD_PRELOAD", b"LTTNG_HOME", b"GPUWITNESS_RUN_DIR", b"GPUWITNESS_EXECS", b"GPUWITNESS_GPU_TIMING",
                                   b"GPUWITNESS_HASH", b"GPUWITNESS_QUERIES", b"NVTX_INJECTION64_PATH"})
        values = dict(entry.split(b"=", 1) for entry in seen if b"=" in entry)
        self.assertEqual(values[b"GPUWITNESS_RUN_DIR"].decode(), str(self.run_dir.resolve()))
        self.assertEqual(values[b"GPUWITNESS_GPU_TIMING"], b"auto")

    def test_preload_of_the_user_stays(self):
        environment = {**os.environ, "LD_PRELOAD": "libc.so.6", "ASAN_OPTIONS": "verify_asan_link_order=0"}
        done = self.record("sh", "-c", "echo $LD_PRELOAD", env=environment)
        self.assertRegex(done.stdout.decode(), r"/libgpuwitness-shim\.so:libc\.so\.6\n$")

    def test_process_state(self):
        def odd_parent():
            signal.signal(signal.SIGCHLD, signal.SIG_IGN)
            signal.signal(signal.SIGHUP, signal.SIG_IGN)
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR2, signal.SIGTERM})

        script = "grep -E '^(Sig(Blk|Ign)|NoNewPrivs|Uid|Gid)' /proc/self/status; ls /proc/self/fd; umask; ulimit -a; pwd"
        for prepare in (None, odd_parent):
            self.run_dir = self.base / f"run-{prepare is None}"
            plain = subprocess.run(["sh", "-c", script], stdin=subprocess.DEVNULL, capture_output=True,
                                   preexec_fn=prepare, text=True)
            seen = self.record("sh", "-c", script, stdin=subprocess.DEVNULL, preexec_fn=prepare, text=True)
            self.assertEqual(seen.returncode, 0)
            self.assertEqual(seen.stdout, plain.stdout)

    def test_daemons_hold_no_pipe_of_the_user(self):
        read_end, write_end = os.pipe()
        os.set_inheritable(write_end, True)
        process = self.start("sh", "-c", "exec 1>&- 2>&-; exec sleep 1000", pass_fds=[write_end])
        os.close(write_end)
        wait_until(lambda: len(descendants(process.pid)) > 3, "program and daemons run")
        daemons = [pid for pid in descendants(process.pid) if "lttng" in processes().get(pid, "")]
        self.assertTrue(daemons)
        for pid in daemons:
            for entry in pathlib.Path(f"/proc/{pid}/fd").iterdir():
                with contextlib.suppress(OSError):
                    self.assertNotEqual(os.stat(entry).st_ino, os.fstat(read_end).st_ino)
        process.terminate()
        self.assertEqual(process.wait(PATIENCE_S), 143)
        os.close(read_end)


class Signals(Recorded):
    def test_each_arrives_once(self):
        process = self.start_ticker(10)
        names = ["INT", "HUP", "QUIT", "USR1", "USR2", "CONT"]
        for name in names:
            process.send_signal(getattr(signal, "SIG" + name))
            self.assertEqual(process.stdout.readline(), f"got {name}\n")
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=PATIENCE_S)
        self.assertEqual(out.split("\n")[:-1], [f"{name} 1" for name in names])
        self.assertEqual((process.returncode, err), (40, ""))
        self.assertEqual(self.events(), 20)

    def test_whole_process_group(self):
        """As a job scheduler does: everybody gets it, and the last events are there all the same."""
        process = self.start_ticker(10, start_new_session=True)
        for pid in descendants(process.pid) | {process.pid}:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)
        process.communicate(timeout=PATIENCE_S)
        self.assertEqual(process.returncode, 40)
        self.assertEqual(self.events(), 20)
        self.assertEqual(self.info()["problems"], [])

    def test_stop_and_continue(self):
        # In a group of its own: SIGTSTP stops nothing in an orphaned one, which CI may run this in.
        process = self.start_ticker(1, preexec_fn=os.setpgrp)
        child = max(pid for pid in descendants(process.pid) if TICKER in processes().get(pid, ""))
        state = lambda pid: pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        process.send_signal(signal.SIGTSTP)
        wait_until(lambda: state(child) == "T" and state(process.pid) == "T", "both stop")
        process.send_signal(signal.SIGCONT)
        self.assertEqual(process.stdout.readline(), "got CONT\n")
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=PATIENCE_S)
        self.assertEqual(process.returncode, 40)


class Terminal(Recorded):
    def test_interrupt_key_arrives_once(self):
        try:
            pid, terminal = pty.fork()
        except OSError as problem:
            self.skipTest(f"no terminal can be opened here: {problem}")
        if pid == 0:
            command = self.command(TICKER, "5", "wait")
            os.execv(command[0], command)
        text = b""

        def read_until(mark):
            nonlocal text
            while mark not in text:
                self.assertTrue(select.select([terminal], [], [], PATIENCE_S)[0], text)
                text += os.read(terminal, 4096)

        read_until(b"ready")
        os.write(terminal, b"\x03")
        read_until(b"got INT")
        os.kill(pid, signal.SIGTERM)
        read_until(b"CONT 0")
        self.assertIn(b"INT 1\r\n", text)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 40)
        os.close(terminal)


class Events(Recorded):
    def test_every_event(self):
        self.assertEqual(self.record(TICKER, "100000").returncode, 0)
        self.assertEqual(self.events(), 100000)
        self.assertEqual(self.info()["events_discarded"], 0)

    def test_lost_events_are_counted(self):
        done = self.record(TICKER, "1000000", options=("--buffer-size=64K",))
        info = self.info()
        self.assertEqual(self.events() + info["events_discarded"], 1000000)
        self.assertIn(f" {info['events_discarded']} event", done.stderr.decode())

    def test_program_without_cuda(self):
        self.assertEqual(self.record("true").returncode, 0)
        self.assertEqual(self.events(), 0)
        self.assertTrue(self.info()["complete"])
        self.assertFalse((self.run_dir / "session.log").exists())

    def test_functions(self):
        self.record("true")
        lines = (self.run_dir / "functions.txt").read_text().split("\n")
        self.assertEqual([line.split()[0] for line in lines[:-1]], [str(i) for i in range(len(lines) - 1)])
        self.assertIn("cudaLaunchKernel", {line.split()[1] for line in lines[:-1]})

    def test_nothing_is_left(self):
        before = {path for place in ("/tmp", "/dev/shm") for path in pathlib.Path(place).glob("g*w*-??????")}
        self.record(TICKER, "10")
        buffers = pathlib.Path(self.info()["buffers"]["path"])
        self.assertFalse(buffers.exists())
        after = {path for place in ("/tmp", "/dev/shm") for path in pathlib.Path(place).glob("g*w*-??????")}
        self.assertEqual([p for p in after - before if p.stat().st_mtime < time.time() - 5], [])


class SideBySide(Recorded):
    def test_two_recorders(self):
        first = self.start_ticker(100, env={**os.environ, "LTTNG_HOME": "/nowhere"})
        first_run = self.run_dir
        self.run_dir = self.base / "second"
        second = self.start_ticker(3000)
        second_run = self.run_dir
        for process in (first, second):
            process.terminate()
        for process in (first, second):
            process.communicate(timeout=PATIENCE_S)
            self.assertEqual(process.returncode, 40)
        self.assertEqual(self.events(first_run), 200)
        self.assertEqual(self.events(second_run), 6000)

    def test_daemon_of_the_system(self):
        """A session daemon of the user's own and its session are left as they were."""
        home = pathlib.Path(tempfile.mkdtemp(prefix="gwt-", dir="/tmp"))
        environment = {**os.environ, "LTTNG_HOME": str(home)}

        def lttng(*arguments):
            return subprocess.run(["lttng", "--no-sessiond", *arguments], env=environment, capture_output=True,
                                  text=True)

        daemon = None
        if lttng("list").returncode != 0:
            daemon = subprocess.Popen(["lttng-sessiond", "--no-kernel"], env=environment, stderr=subprocess.DEVNULL)
            self.strays.append(daemon)
            wait_until(lambda: lttng("list").returncode == 0, "the user's daemon answers")
        session = f"gpuwitness-test-{os.getpid()}"
        try:
            self.assertEqual(lttng("create", session, f"--output={home}/theirs").returncode, 0)
            lttng("enable-event", "-u", "none:*")
            lttng("start")
            before = lttng("list", session).stdout
            self.assertEqual(self.record(TICKER, "1000", env=environment).returncode, 0)
            self.assertEqual(self.events(), 1000)
            self.assertEqual(lttng("list", session).stdout, before)
            self.assertNotIn("gpuwitness\n", lttng("list").stdout)
        finally:
            lttng("destroy", session)
            if daemon is not None:
                daemon.terminate()
                daemon.wait(PATIENCE_S)
            shutil.rmtree(home, ignore_errors=True)

    def test_ordinary_user(self):
        if os.geteuid() != 0 or shutil.which("setpriv") is None:
            self.skipTest("is an ordinary user already")
        user = ["setpriv", "--reuid=65533", "--regid=65533", "--clear-groups"]
        if subprocess.run([*user, "sh", "-c", 'test -x "$0"', TICKER], capture_output=True).returncode != 0:
            self.skipTest("the build directory is closed to others")
        self.base.chmod(0o777)
        environment = {name: value for name, value in os.environ.items() if name != "XDG_RUNTIME_DIR"}
        done = subprocess.run([*user, *self.command(TICKER, "1000")], capture_output=True, env=environment)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertEqual(self.events(), 1000)


class RunDirectory(Recorded):
    def refused(self, *program, **more):
        done = self.record("touch", str(self.base / "started"), **more)
        self.assertEqual(done.returncode, 125, done.stderr)
        self.assertEqual(done.stderr.count(b"\n"), 1, done.stderr)
        self.assertFalse((self.base / "started").exists())
        return done.stderr.decode()

    def test_exists(self):
        self.run_dir.mkdir()
        (self.run_dir / "mine").write_text("precious")
        self.assertIn("exists already", self.refused())
        self.assertEqual((self.run_dir / "mine").read_text(), "precious")

    def test_cannot_be_made(self):
        (self.base / "file").write_text("")
        self.run_dir = self.base / "file" / "run"
        self.assertIn("Not a directory", self.refused())
        self.run_dir = self.base / "missing" / "run"
        self.assertIn("No such file", self.refused())
        self.run_dir = pathlib.Path("/proc/run")
        self.refused()

    def test_simulated_libraries_are_loaded_before_others_of_their_names(self):
        """A program's DT_RPATH, as that of PyTorch's libraries, goes before the library path."""
        folder = pathlib.Path(GPUWITNESS).parent.parent / "simgpu"
        done = self.record("cat", "/proc/self/maps", options=("-q", "--simgpu"))
        loaded = {pathlib.Path(line.split()[-1]) for line in done.stdout.decode().splitlines() if "/" in line}
        self.assertEqual(sorted(path for path in loaded if path.parent == folder), sorted(folder.glob("lib*.so.*")))

    def test_simgpu_settings_cannot_be_read(self):
        self.assertRegex(self.refused(options=("-q", f"--simgpu={self.base}/missing")), "missing")

    def test_simgpu_settings_are_not_understood(self):
        """That is said before anything is started, not by the program's first call of CUDA."""
        (self.base / "wrong.conf").write_text("devices 2\nkernl * 5\n")
        said = self.refused(options=("-q", f"--simgpu={self.base}/wrong.conf"))
        self.assertRegex(said, r"wrong\.conf:2: cannot understand 'kernl \* 5'")
        self.assertFalse(self.run_dir.exists())

    def test_no_session_daemon(self):
        tools = self.base / "bin"
        tools.mkdir()
        (tools / "touch").symlink_to(shutil.which("touch"))
        self.assertIn("install lttng-tools", self.refused(env={**os.environ, "PATH": str(tools)}))
        self.assertFalse(self.run_dir.exists())

    def test_session_daemon_fails(self):
        tools = self.base / "bin"
        tools.mkdir()
        (tools / "lttng-sessiond").write_text("#!/bin/sh\necho broken daemon >&2\nexit 1\n")
        (tools / "lttng-sessiond").chmod(0o755)
        self.assertIn("broken daemon", self.refused(env={**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"}))
        self.assertFalse(self.run_dir.exists())


    def test_session_daemon_is_told_the_format(self):
        """LTTng 2.15 and later write CTF 2 otherwise, whatever the user's environment says."""
        tools = self.base / "bin"
        tools.mkdir()
        (tools / "lttng-sessiond").write_text(
            f"#!/bin/sh\nenv >{self.base}/environment\nexec {shutil.which('lttng-sessiond')} \"$@\"\n")
        (tools / "lttng-sessiond").chmod(0o755)
        done = self.record("true", env={**os.environ, "PATH": f"{tools}:{os.environ['PATH']}",
                                        "LTTNG_SESSIOND_DEFAULT_TRACE_FORMAT": "ctf-2"})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("\nLTTNG_SESSIOND_DEFAULT_TRACE_FORMAT=ctf-1.8\n", (self.base / "environment").read_text())


class Ranks(Recorded):
    def environment(self, rank, job="job-1"):
        return {**os.environ, "RANK": str(rank), "WORLD_SIZE": "2", "TORCHELASTIC_RUN_ID": job}

    def test_ranks_share_a_directory(self):
        ranks = [self.start_ticker(100 + rank, env=self.environment(rank)) for rank in range(2)]
        for process in ranks:
            process.terminate()
            process.communicate(timeout=PATIENCE_S)
        folders = sorted(self.run_dir.glob("rank-*"), key=lambda path: self.info(path)["job"]["rank"])
        self.assertEqual([self.info(path)["job"]["rank"] for path in folders], [0, 1])
        self.assertEqual([self.events(path) for path in folders], [200, 202])
        self.assertEqual({path.name for path in self.run_dir.iterdir()}, {"job.json", *(p.name for p in folders)})

        done = self.record("true", env=self.environment(0, job="job-2"))
        self.assertEqual(done.returncode, 125)
        self.assertIn(b"exists already", done.stderr)
        self.assertEqual(self.record("true").returncode, 125)

    def test_one_process_is_no_rank(self):
        self.record("true", env={**self.environment(0), "WORLD_SIZE": "1"})
        self.assertTrue((self.run_dir / "run.json").exists())


if __name__ == "__main__":
    main()
