"""Runs of many ranks. Called with GPUWITNESS DDP_LOOP CONFIG MPIRUN GROUP…; MPIRUN may be empty."""
import gzip
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

GPUWITNESS, DDP_LOOP, CONFIG, MPIRUN = sys.argv[1:5]
PATIENCE_S = 60
STEPS = 20
NAMESPACES = ["unshare", "-mu"] if os.geteuid() == 0 else ["unshare", "-Umru"]
MPI = [MPIRUN, "--allow-run-as-root", "--oversubscribe"]


def has_mpi():
    return bool(MPIRUN) and (pathlib.Path(GPUWITNESS).parent.parent / "lib/libgpuwitness-mpi.so").exists()


class Ranks(unittest.TestCase):
    def setUp(self):
        self.base = pathlib.Path(tempfile.mkdtemp(prefix="gpuwitness-ranks-"))
        self.run_dir = self.base / "run"
        self.addCleanup(shutil.rmtree, self.base, ignore_errors=True)

    def tool(self, *words, status=0, **more):
        done = subprocess.run([GPUWITNESS, *map(str, words)], capture_output=True, text=True, timeout=PATIENCE_S, **more)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stdout if status == 0 else done.stderr

    def report(self, *words):
        return json.loads(self.tool("report", "--json", *words))

    def record(self, run, *program, options=()):
        return [GPUWITNESS, "record", "-q", f"--simgpu={CONFIG}", *options, "-o", str(run), "--", *map(str, program)]

    def program(self, *options):
        return [DDP_LOOP, "--steps", STEPS, "--id-file", self.base / "id", *options]

    def launch(self, ranks, size, *options, prefix=lambda rank: [], run=lambda rank: None, fails=(), program=None,
               recorder=lambda rank: []):
        """As torchrun does: a process for each rank, all at once."""
        started = []
        for rank in ranks:
            environment = {**os.environ, "RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(size),
                           "MASTER_ADDR": "localhost", "MASTER_PORT": "29500", "TORCHELASTIC_RUN_ID": "job-1"}
            command = [*prefix(rank), *self.record(run(rank) or self.run_dir, *(program or self.program(*options)),
                                                      options=recorder(rank))]
            started.append((rank, subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL,
                                                   stderr=subprocess.PIPE, text=True)))
        for rank, process in started:
            _, errors = process.communicate(timeout=PATIENCE_S)
            if rank not in fails:
                self.assertEqual(process.returncode, 0, errors)

    def launch_by(self, variables, ranks, program, run=None):
        """One recorder for each rank, told by these variables."""
        started = [subprocess.Popen(self.record(run or self.run_dir, *program), env={**os.environ, **variables(rank)},
                                    stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
                   for rank in range(ranks)]
        for process in started:
            _, errors = process.communicate(timeout=PATIENCE_S)
            self.assertEqual(process.returncode, 0, errors)

    def ranks_of(self, report):
        return sorted(process["rank"] for process in report["run"]["processes"] if process["rank"] is not None)


class Launched(Ranks):
    def test_a_recorder_for_each_rank(self):
        self.launch(range(4), 4)
        report = self.report(self.run_dir)
        self.assertEqual(self.ranks_of(report), [0, 1, 2, 3])
        self.assertEqual(report["run"]["ranks"], {"expected": 4, "missing": 0})
        self.assertEqual(report["run"]["problems"], [])
        self.assertGreaterEqual(report["steps"]["count"], 4 * (STEPS - 1))

    def test_jobs_of_two_sizes(self):
        """A launcher's number that is the same does not make one job of two."""
        self.launch(range(2), 2)
        (self.base / "id").unlink()
        self.launch(range(3), 3)
        report = self.report(self.run_dir)
        said = report["run"]["problems"]
        self.assertEqual([line for line in said if "different sizes" in line],
                         ["2 jobs of different sizes are in this run, the smallest of 2 ranks, the largest of 3; what is "
                          "said of ranks takes them for one job: record each into a directory of its own"])
        self.assertEqual(report["run"]["ranks"], {"expected": 3, "missing": 0})

    def test_two_jobs_of_one_size(self):
        """In one directory, and in one recording."""
        self.launch(range(2), 2)
        (self.base / "id").unlink()
        self.launch(range(2), 2)
        (said,) = self.report(self.run_dir)["run"]["problems"]
        self.assertRegex(said, "^ranks 0–1 were recorded more than once, .* two share a directory")
        both = self.base / "both"
        launcher = "for job in a b; do for RANK in 0 1; do export RANK; $0 --steps 4 --id-file $1.$job & done; wait; done"
        subprocess.run(self.record(both, "sh", "-c", launcher, DDP_LOOP, self.base / "id"), check=True, timeout=PATIENCE_S,
                       stdout=subprocess.DEVNULL, env={**os.environ, "WORLD_SIZE": "2"})
        (said,) = self.report(both)["run"]["problems"]
        self.assertRegex(said, "^ranks 0–1 put work on a GPU from several processes, as when")

    def test_a_missing_rank(self):
        """Rank 2 takes part, but nobody records it."""
        environment = {**os.environ, "RANK": "2", "LOCAL_RANK": "2", "WORLD_SIZE": "4", "SIMGPU_CONFIG": CONFIG,
                       "LD_LIBRARY_PATH": str(pathlib.Path(GPUWITNESS).parent.parent / "simgpu")}
        absent = subprocess.Popen(list(map(str, self.program())), env=environment)
        self.launch([0, 1, 3], 4)
        self.assertEqual(absent.wait(PATIENCE_S), 0)
        report = self.report(self.run_dir)
        self.assertEqual(report["run"]["ranks"], {"expected": 4, "missing": 1})
        self.assertEqual(report["run"]["problems"], ["rank 2 of 4 is not in the run"])
        states = {verdict["id"]: verdict["verdict"] for verdict in report["verdicts"]}
        for needs_all in ("straggler", "imbalance", "comm-slow-link", "pipeline-bubble"):
            self.assertNotEqual(states[needs_all], "ruled-out", needs_all)
        self.assertEqual(states["idle-device"], "unknown")  # its device is idle in what is left
        self.assertIn("rank 2 of 4 is not in the run", self.tool("report", self.run_dir))

    def test_a_killed_rank(self):
        self.launch(range(3), 3, "--dies", 1, fails=range(3))
        report = self.report(self.run_dir)
        self.assertEqual(self.ranks_of(report), [0, 1, 2])
        (problem,) = [line for line in report["run"]["problems"] if "SIGKILL" in line]
        self.assertRegex(problem, r"^rank 1 was ended by signal 9 \(SIGKILL\), [0-9.]+ s after the run began$")
        self.assertGreaterEqual(report["steps"]["count"], 3 * (STEPS // 2 - 2))
        self.assertRegex(" ".join(report["run"]["problems"]), r"ranks 0, 2 ended with status 1, the first [0-9.]+ s after")
        self.assertRegex(" ".join(report["run"]["problems"]), r"calls? of NCCL failed in ranks? .*, the first nccl[A-Za-z]+ with ncclRemoteError")
        self.assertRegex(" ".join(report["run"]["problems"]), r"[0-9]+ steps? that ended after a rank had died (is|are) left out")

    def test_a_rank_that_gives_up(self):
        """Rank 1 aborts its communicator; rank 0 learns of it by an asynchronous error, and aborts too."""
        program = pathlib.Path(DDP_LOOP).parent.parent / "programs/failures_check"
        subprocess.run(self.record(self.run_dir, program, "abort"), check=True, timeout=PATIENCE_S, stdout=subprocess.DEVNULL)
        said = "\n".join(self.report(self.run_dir)["run"]["problems"])
        self.assertRegex(said, r"1 call of NCCL failed in 1 process, the first ncclAllReduce with ncclRemoteError, [0-9.]+ s after")
        self.assertRegex(said, r"2 communicators were aborted by 1 process, the first [0-9.]+ s after")

    def test_a_rank_that_dies_before_the_others_know(self):
        """Before it has joined: the others wait for it in ncclCommInitRank until their launcher ends them."""
        environment = {**os.environ, "WORLD_SIZE": "3", "MASTER_ADDR": "localhost", "MASTER_PORT": "29500",
                       "TORCHELASTIC_RUN_ID": "job-1"}
        waiting = [subprocess.Popen(self.record(self.run_dir, *self.program()), stdout=subprocess.DEVNULL,
                                    env={**environment, "RANK": str(rank), "LOCAL_RANK": str(rank)}) for rank in (0, 2)]
        dying = subprocess.run(self.record(self.run_dir, "sh", "-c", "exit 7"), env={**environment, "RANK": "1"})
        self.assertEqual(dying.returncode, 7)
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until and not ((self.base / "id").exists() and
                                                len(list(self.run_dir.glob("rank-*/run.json"))) == 3):
            time.sleep(0.01)
        for process in waiting:
            process.send_signal(signal.SIGTERM)
        self.assertEqual([process.wait(PATIENCE_S) for process in waiting], [128 + signal.SIGTERM] * 2)
        report = self.report(self.run_dir)
        said = "\n".join(report["run"]["problems"])
        self.assertRegex(said, "rank 1 ended with status 7, (before anything was recorded|[0-9.]+ s after the run began)")
        self.assertRegex(said, r"ranks 0, 2 were ended by signal 15 \(SIGTERM\), the first [0-9.]+ s after the run began")
        self.assertRegex(said, "ranks? .* of 3 put no work on a GPU")
        self.assertEqual(report["steps"]["count"], 0)

    def test_a_killed_rank_of_one_recorder(self):
        script = ('for RANK in 0 1 2; do RANK=$RANK WORLD_SIZE=3 "$@" & done; wait')
        subprocess.run(self.record(self.run_dir, "sh", "-c", script, "sh", *self.program("--dies", 1)),
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=PATIENCE_S)
        report = self.report(self.run_dir)
        self.assertEqual(self.ranks_of(report), [0, 1, 2])
        (problem,) = [line for line in report["run"]["problems"] if line.startswith("rank")]
        self.assertRegex(problem, r"^rank 1 was last seen [0-9.]+ s after the run began and did not end by exit\(\)")

    def test_what_a_dead_recorder_left_cannot_be_read(self):
        self.launch(range(3), 3)
        folder = next(path for path in self.run_dir.glob("rank-*") if
                      json.loads((path / "run.json").read_text())["job"]["rank"] == 1)
        (folder / "run.json").write_text("{")
        report = self.report(self.run_dir)
        self.assertEqual(self.ranks_of(report), [0, 2])
        self.assertEqual(report["run"]["ranks"]["missing"], 1)
        said = " ".join(report["run"]["problems"])
        self.assertIn(f"{folder.name}/run.json", said)
        self.assertNotIn(str(self.base), said)

    def test_a_rank_that_was_started_again(self):
        self.launch(range(2), 2, program=[DDP_LOOP, "--ranks", 1, "--steps", 5])
        self.launch([1], 2, program=[DDP_LOOP, "--ranks", 1, "--steps", 5])
        (problem,) = self.report(self.run_dir)["run"]["problems"]
        self.assertRegex(problem, "^rank 1 was recorded more than once")

    def test_a_rank_without_cuda(self):
        environment = {**os.environ, "RANK": "1", "WORLD_SIZE": "2", "TORCHELASTIC_RUN_ID": "job-1",
                       "MASTER_ADDR": "localhost", "MASTER_PORT": "29500"}
        subprocess.run(self.record(self.run_dir, "true"), env=environment, check=True, timeout=PATIENCE_S)
        subprocess.run(self.record(self.run_dir, DDP_LOOP, "--ranks", 1, "--steps", 5), env={**environment, "RANK": "0"},
                       check=True, timeout=PATIENCE_S, stdout=subprocess.DEVNULL)
        self.assertEqual(self.report(self.run_dir)["run"]["problems"], ["rank 1 of 2 put no work on a GPU"])


class Slurm(Ranks):
    """Its variables only: there is no Slurm here."""

    @staticmethod
    def variables(tasks):
        return lambda task: {"SLURM_JOB_ID": "77", "SLURM_STEP_ID": "0", "SLURM_PROCID": str(task),
                             "SLURM_STEP_NUM_TASKS": str(tasks), "SLURM_NTASKS": str(tasks)}

    def test_a_recorder_for_each_task(self):
        self.launch_by(self.variables(3), 3, self.program())
        report = self.report(self.run_dir)
        self.assertEqual(self.ranks_of(report), [0, 1, 2])
        self.assertEqual(report["run"]["ranks"], {"expected": 3, "missing": 0})

    def test_a_recorder_for_each_node_with_ranks_below(self):
        script = ('for LOCAL_RANK in 0 1; do RANK=$((2 * SLURM_PROCID + LOCAL_RANK)) WORLD_SIZE=4 "$@" & done; wait')
        self.launch_by(self.variables(2), 2, ["sh", "-c", script, "sh", *self.program()])
        self.assertEqual(len(list(self.run_dir.glob("rank-*"))), 2)
        report = self.report(self.run_dir)
        self.assertEqual(self.ranks_of(report), [0, 1, 2, 3])
        self.assertEqual(report["run"]["ranks"], {"expected": 4, "missing": 0})
        self.assertEqual(report["run"]["problems"], [])

    def test_another_step_of_the_job_is_another_run(self):
        self.launch_by(self.variables(2), 2, ["true"])
        done = subprocess.run(self.record(self.run_dir, "true"), capture_output=True, text=True,
                              env={**os.environ, **self.variables(2)(0), "SLURM_STEP_ID": "1"})
        self.assertEqual(done.returncode, 125)
        self.assertIn("exists already", done.stderr)


def can_be_another_host():
    return subprocess.run([*NAMESPACES, "sh", "-c", "hostname other && mount --bind /dev/null /proc/sys/kernel/random/boot_id"],
                          capture_output=True).returncode == 0


@unittest.skipUnless(can_be_another_host(), "namespaces of hosts cannot be made here")
class Hosts(Ranks):
    def on(self, host):
        boot = self.base / f"boot-{host}"
        boot.write_text(f"{host:0>8}-0000-4000-8000-000000000000\n")
        script = f'hostname {host} && mount --bind {boot} /proc/sys/kernel/random/boot_id && exec "$@"'
        return [*NAMESPACES, "sh", "-c", script, "sh"]

    def test_two_hosts_copied_together(self):
        self.launch(range(4), 4, prefix=lambda rank: self.on("ab"[rank // 2]),
                    run=lambda rank: self.base / "ab"[rank // 2])
        shutil.copytree(self.base / "a", self.run_dir)
        shutil.copytree(self.base / "b", self.run_dir, dirs_exist_ok=True)
        infos = [json.loads(path.read_text()) for path in self.run_dir.glob("rank-*/run.json")]
        self.assertEqual(sorted((info["host"], info["boot_id"][7], info["job"]["rank"]) for info in infos),
                         [("a", "a", 0), ("a", "a", 1), ("b", "b", 2), ("b", "b", 3)])
        report = self.report(self.run_dir)
        self.assertEqual([(process["rank"], process["host"]) for process in report["run"]["processes"]],
                         [(0, "a"), (1, "a"), (2, "b"), (3, "b")])
        self.assertEqual(report["run"]["ranks"], {"expected": 4, "missing": 0})

    def test_hosts_of_one_name(self):
        """Containers whose processes have the same numbers, too."""
        self.launch(range(2), 2, prefix=lambda rank: [*NAMESPACES, "-pf", "--mount-proc"],
                    program=[DDP_LOOP, "--ranks", 1, "--steps", 5])
        names = sorted(path.name for path in self.run_dir.glob("rank-*"))
        self.assertEqual(len(names), 2)
        self.assertEqual(names[1], names[0] + "-2")
        self.assertEqual(self.ranks_of(self.report(self.run_dir)), [0, 1])


class Summaries(Ranks):
    def setUp(self):
        super().setUp()
        self.launch(range(3), 3)
        self.whole = self.tool("report", "--json", self.run_dir)

    def reduce(self, *options):
        """Each rank where it lies; returns their files."""
        files = []
        for folder in sorted(self.run_dir.glob("rank-*")):
            files.append(self.base / "reduced" / f"{folder.name}.gws")
            files[-1].parent.mkdir(exist_ok=True)
            self.tool("reduce", *options, "-o", files[-1], folder)
        return files

    def test_reports_are_the_same(self):
        files = self.reduce()
        self.assertEqual(self.tool("merge", "--json", *reversed(files)), self.whole)
        self.tool("merge", "--json", "-o", self.base / "report.json", *files)
        self.assertEqual((self.base / "report.json").read_text(), self.whole)
        self.assertEqual(self.tool("report", "--json", self.base / "reduced"), self.whole)
        joined = self.base / "joined"
        joined.write_bytes(b"".join(path.read_bytes() for path in files))
        self.assertEqual(self.tool("report", "--json", joined), self.whole)
        self.tool("reduce", "-o", self.base / "all", self.run_dir)
        self.assertEqual(self.tool("report", "--json", self.base / "all"), self.whole)
        self.assertEqual(self.tool("merge", *files), self.tool("report", self.run_dir))
        self.assertEqual(self.tool("merge", "--md", self.run_dir), self.tool("report", "--md", self.run_dir))

    def test_given_twice(self):
        """Counts once, whether as a copy of its summary or as its directory."""
        (one, *_) = files = self.reduce()
        report = json.loads(self.tool("merge", "--json", *files, one, self.run_dir / one.stem))
        self.assertEqual(report["run"].pop("problems"), [f"{one.stem} was given more than once and is taken once"] * 2)
        whole = json.loads(self.whole)
        self.assertEqual(whole["run"].pop("problems"), [])
        self.assertEqual(report, whole)

    def test_of_several_jobs(self):
        """What has nothing in common is put together, and the report says so."""
        subprocess.run(self.record(self.base / "other", DDP_LOOP, "--ranks", 2, "--steps", 5), check=True,
                       timeout=PATIENCE_S, stdout=subprocess.DEVNULL)
        self.tool("reduce", "-o", self.base / "other.gws", self.base / "other")
        files = self.reduce()
        said = [line for line in json.loads(self.tool("merge", "--json", *files, self.base / "other.gws"))["run"]["problems"]
                if "in common" in line]
        self.assertEqual(len(said), 1)
        self.assertIn("the 4 recordings are of 2 jobs", said[0])
        self.assertIn("of 2 jobs", self.tool("merge", *files, self.base / "other.gws"))

    def test_clocks_that_differ(self):
        """Fitted after the ranks were put together, so it makes no difference where they were cut and packed."""
        shutil.rmtree(self.run_dir)
        (self.base / "id").unlink()
        self.launch(range(3), 3, recorder=lambda rank: [f"--clock-offset={rank * 7_000_000_000},{10 * rank}"])
        for options in ((), ("--rank-size=90K",)):
            whole = self.tool("report", "--json", *options, self.run_dir)
            report = json.loads(whole)
            self.assertGreater(report["steps"]["count"], 3)
            files = self.reduce(*options)
            self.assertEqual(self.tool("merge", "--json", *options, *files), whole)

    def test_exports_are_the_same(self):
        (one, *_) = self.reduce()
        self.tool("export", "--format", "csv", "-o", self.base / "a", self.run_dir / one.name[:-4])
        self.tool("export", "--format", "csv", "-o", self.base / "b", one)
        names = sorted(path.name for path in (self.base / "a").iterdir())
        self.assertIn("ops.csv", names)
        for name in names:
            self.assertEqual((self.base / "a" / name).read_text(), (self.base / "b" / name).read_text(), name)

    def test_a_bounded_size(self):
        steps = []
        for kilobytes in (60, 90, 120):
            for path in self.reduce(f"--rank-size={kilobytes}K"):
                self.assertLess(path.stat().st_size, kilobytes << 10)
            cut = self.tool("report", "--json", f"--rank-size={kilobytes}K", self.run_dir)
            self.assertEqual(self.tool("report", "--json", self.base / "reduced"), cut)
            report = json.loads(cut)
            self.assertRegex(" ".join(report["run"]["problems"]), r"of 3 recordings only the first .* steps were taken")
            self.assertEqual(report["coverage"]["lost_events"], 0)
            steps.append(report["steps"]["count"])
        self.assertTrue(0 < steps[0] < steps[1] < steps[2] < json.loads(self.whole)["steps"]["count"], steps)
        self.assertIn("give a larger --rank-size",
                      self.tool("reduce", "--rank-size=1K", "-o", self.base / "no", self.run_dir, status=1))
        self.assertFalse((self.base / "no").exists())

    def test_a_file_that_cannot_be_written(self):
        self.assertIn("cannot be written", self.tool("reduce", "-o", "/nowhere/file", self.run_dir, status=1))
        if os.path.exists("/dev/full"):
            for verb in ("merge", "reduce"):
                said = self.tool(verb, "-o", "/dev/full", self.run_dir, status=1)
                self.assertRegex(said, r"\A[^\n]* cannot be written: No space left on device\n\Z")

    def test_what_is_no_plain_file_stays(self):
        """A pipe is written, and a link leads to where it led; neither is replaced by a file."""
        (self.base / "old").write_text("old")
        (self.base / "link").symlink_to("old")
        os.mkfifo(self.base / "pipe")
        for verb in ("merge", "reduce"):
            self.tool(verb, "-o", self.base / "file", self.run_dir)
            whole = (self.base / "file").read_bytes()
            self.tool(verb, "-o", self.base / "link", self.run_dir)
            self.assertTrue((self.base / "link").is_symlink())
            self.assertEqual((self.base / "old").read_bytes(), whole)
            with subprocess.Popen(["cat", self.base / "pipe"], stdout=subprocess.PIPE) as reader:
                try:
                    self.tool(verb, "-o", self.base / "pipe", self.run_dir)
                    self.assertTrue((self.base / "pipe").is_fifo())
                    self.assertEqual(reader.stdout.read(), whole)
                finally:
                    reader.kill()


class Damage(Ranks):
    def test_damaged_summaries(self):
        self.launch(range(2), 2)
        self.tool("reduce", "-o", self.base / "whole", next(self.run_dir.glob("rank-*")))
        packed = (self.base / "whole").read_bytes()
        plain = gzip.decompress(packed)
        chance = random.Random(1)
        bad = self.base / "bad"
        for length in (len(packed) // 2, len(packed) - 1):
            bad.write_bytes(packed[:length])
            self.assertIn("the summary is damaged", self.tool("report", bad, status=1))
        bad.write_bytes(gzip.compress(plain.replace(b"gpuwitness.summary/1", b"gpuwitness.summary/9")))
        self.assertIn("another version", self.tool("report", bad, status=1))
        bad.write_bytes(gzip.compress(plain.replace(b"launch begin=", b"launch bogus=")))
        self.assertIn("another version", self.tool("report", bad, status=1))
        for _ in range(60):
            damaged = bytearray(plain)
            for _ in range(chance.randint(1, 8)):
                damaged[chance.randrange(64, len(damaged))] = chance.randrange(256)
            if chance.random() < 0.3:
                del damaged[chance.randrange(len(damaged)):]
            bad.write_bytes(gzip.compress(bytes(damaged)))
            done = subprocess.run([GPUWITNESS, "report", "--json", str(bad)], capture_output=True, text=True,
                                  timeout=PATIENCE_S)
            self.assertIn(done.returncode, (0, 1), f"{done.returncode}: {done.stderr}")
            if done.returncode:
                self.assertEqual(done.stderr.count("\n"), 1, done.stderr)


@unittest.skipUnless(has_mpi(), "built without MPI, or no mpirun")
class Mpi(Ranks):
    def mpirun(self, count, *command):
        done = subprocess.run([*MPI, "-n", str(count), *map(str, command)], capture_output=True, text=True,
                              timeout=PATIENCE_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_recorders_under_mpirun(self):
        self.mpirun(3, *self.record(self.run_dir, *self.program()))
        self.assertEqual(len(list(self.run_dir.glob("rank-*"))), 3)
        report = self.report(self.run_dir)
        self.assertEqual(self.ranks_of(report), [0, 1, 2])
        self.assertEqual(report["run"]["ranks"], {"expected": 3, "missing": 0})

    def test_mpirun_under_a_recorder(self):
        subprocess.run(self.record(self.run_dir, *MPI, "-n", 3, *self.program()), check=True, timeout=PATIENCE_S,
                       stdout=subprocess.DEVNULL)
        self.assertTrue((self.run_dir / "run.json").exists())
        report = self.report(self.run_dir)
        self.assertEqual(self.ranks_of(report), [0, 1, 2])
        self.assertEqual(report["run"]["ranks"], {"expected": 3, "missing": 0})

    def test_reports_are_the_same(self):
        self.launch(range(4), 4)
        for options in ((), ("--rank-size=100K",)):
            alone = self.tool("report", "--json", *options, self.run_dir)
            for count in (1, 2, 3, 5):
                self.assertEqual(self.mpirun(count, GPUWITNESS, "report", "--mpi", "--json", *options, self.run_dir), alone)
        self.assertEqual(self.mpirun(2, "env", "NO_COLOR=1", GPUWITNESS, "report", "--mpi", self.run_dir),
                         self.tool("report", self.run_dir))

    def test_ranks_on_the_hosts_that_recorded_them(self):
        """No shared folder: each process finds other ranks at the same path."""
        if not can_be_another_host():
            self.skipTest("no mount namespaces")
        self.launch(range(4), 4)
        alone = self.tool("report", "--json", self.run_dir)
        folders = sorted(self.run_dir.glob("rank-*"))
        for host in range(2):
            (self.base / f"host-{host}").mkdir()
            for folder in folders[2 * host:2 * host + 2]:
                folder.rename(self.base / f"host-{host}" / folder.name)
        script = f'mount --bind {self.base}/host-$OMPI_COMM_WORLD_RANK {self.run_dir} && exec "$@"'
        self.assertEqual(self.mpirun(2, *NAMESPACES, "sh", "-c", script, "sh", GPUWITNESS, "report", "--mpi", "--json",
                                     self.run_dir), alone)

    def test_failures_end_all(self):
        done = subprocess.run([*MPI, "-n", "3", GPUWITNESS, "report", "--mpi", str(self.base / "nothing")],
                              capture_output=True, text=True, timeout=PATIENCE_S)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr.count("no process finds a recording here"), 1, done.stderr)
        self.launch(range(2), 2)
        done = subprocess.run([*MPI, "-n", "2", GPUWITNESS, "report", "--mpi", "--fail-on", "any>0", str(self.run_dir)],
                              capture_output=True, text=True, timeout=PATIENCE_S)
        alone = subprocess.run([GPUWITNESS, "report", "--fail-on", "any>0", str(self.run_dir)], capture_output=True)
        self.assertEqual(done.returncode, alone.returncode)


if __name__ == "__main__":
    names = [f"__main__.{name}" for name in sys.argv[5:]]
    result = unittest.TextTestRunner(verbosity=2).run(unittest.defaultTestLoader.loadTestsFromNames(names))
    if result.testsRun and len(result.skipped) == result.testsRun or not result.testsRun:
        print("skipped all")
    sys.exit(0 if result.wasSuccessful() else 1)
