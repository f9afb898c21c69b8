"""Whether recording changes what a program does: PyTorch and JAX train on the simulated GPU without and with a recorder, several
times in turn. Status, output, errors and all files must be the same: losses, batches read back, parameters, checkpoints; a
file that is another in each run without a recorder as well is named, not compared. The frameworks' own profilers run beside the
recorder and must count the same events. What recording costs is printed, not judged.

  harm.py --build DIR --wheels DIR [--keep DIR] [CASE ...]
"""
import collections
import dataclasses
import gzip
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from rig import HERE, LOST_RACE, PATIENCE_S, environment_of, parse_options, python_of, simulated

STEPS, SETTLED, TURNS = 105, 5, 3


@dataclasses.dataclass
class Case:
    framework: str
    script: pathlib.Path
    arguments: list = dataclasses.field(default_factory=list)
    profile: str = ""  # what the framework's profiler writes to


TRANSFORMER, TRAIN = HERE / "pytorch_transformer.py", HERE / "jax_train.py"
CASES = {
    "pytorch": Case("pytorch", TRANSFORMER),
    "pytorch-graph": Case("pytorch", TRANSFORMER, ["--graph"]),
    "pytorch-profiler": Case("pytorch", TRANSFORMER, ["--steps", "20"], "profile.json"),
    "jax": Case("jax", TRAIN),
    "jax-prefetch": Case("jax", TRAIN, ["--prefetch"]),
    "jax-profiler": Case("jax", TRAIN, ["--steps", "20"], "profile"),
}


def timeless(text):
    """Without what differs from run to run in the frameworks' own log lines: times, numbers of processes and threads."""
    return re.sub(r"(?m)^([IWEF])\d{4} [\d:.]+ +\d+ |^(USDT:)[-\d]+ [\d:]+ \d+:\d+ ", r"\1\2 ", text)


def files_of(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*")
            if path.is_file() and path.name != "times"}


def run_once(case, options, folder, recorded, races=2):
    """(what can be compared, the folder of its files)."""
    results, config = folder / "results", folder / "simgpu.conf"
    results.mkdir(parents=True)
    config.write_text("")
    environment = environment_of(options, case.framework)
    # Relative paths: the program prints the same, and writes them into its files.
    arguments = ["--profile", case.profile] if case.profile else ["--steps", str(STEPS), "--results", "results"]
    program = [python_of(options, case.framework), case.script, *arguments, *case.arguments]
    if recorded:
        recorder = [options.build / "bin" / "gpuwitness", "record", "-q", f"--simgpu={config}", "-o", folder / "run", "--"]
        program = recorder + program
    else:
        environment = simulated(options.build, config, environment)
    done = subprocess.run(program, cwd=folder, env=environment, capture_output=True, text=True, timeout=PATIENCE_S)
    if LOST_RACE in done.stderr and races:
        print(f"{folder.name}: PyTorch aborted at its end as it may; once more", flush=True)
        shutil.rmtree(folder)
        return run_once(case, options, folder, recorded, races - 1)
    return (done.returncode, done.stdout, timeless(done.stderr), files_of(results)), folder


def profiled(case, folder):
    """How many events of each kind the framework's profiler wrote; of JAX those of the GPU: the host's are samples."""
    if case.framework == "pytorch":
        events = json.loads((folder / case.profile).read_text())["traceEvents"]
        return collections.Counter(event.get("cat") for event in events if event.get("ph") == "X")
    trace = json.loads(gzip.decompress(next((folder / case.profile).rglob("*.trace.json.gz")).read_bytes()))
    devices = {event["pid"] for event in trace["traceEvents"]
               if event.get("name") == "process_name" and "/device:GPU" in event["args"]["name"]}
    return collections.Counter(event["name"] for event in trace["traceEvents"]
                               if event.get("ph") == "X" and event["pid"] in devices)


def milliseconds(folders):
    """Processor's and wall time of a step, the least of several runs."""
    times = [[float(number) for number in (folder / "results" / "times").read_text().split()] for folder in folders]
    return [1e3 * min(column) / (STEPS - SETTLED) for column in zip(*times)]


def run_case(name, case, options, runs):
    made = [(recorded, *run_once(case, options, runs / name / f"{turn}-{'recorded' if recorded else 'alone'}", recorded))
            for turn in range(1 if case.profile else TURNS) for recorded in (False, True)]
    first, problems = made[0][1], []
    for what, index in (("status", 0), ("output", 1), ("errors", 2)):
        if any(result[index] != first[index] for _, result, _ in made):
            problems.append(f"another {what}")
    # What is computed from memory that nobody wrote differs without a recorder too: on the simulated GPU kernels write nothing.
    files = [(recorded, result[3]) for recorded, result, _ in made]
    moods = {file for recorded, written in files for file in {*written, *first[3]}
             if not recorded and written.get(file) != first[3].get(file)}
    problems += sorted({f"another {file}" for _, written in files for file in {*written, *first[3]} - moods
                        if written.get(file) != first[3].get(file)})
    if first[0]:
        problems.append(f"status {first[0]}: {first[2][-500:]}")
    elif case.profile:
        alone, recorded = (profiled(case, folder) for _, _, folder in made)
        if not alone or alone != recorded:
            problems.append(f"its profiler counts {dict(recorded)} recorded and {dict(alone)} alone")
        cost = f"{sum(alone.values())} events of its own"
    else:
        if not {*first[3]} - moods:
            problems.append("no files are the same from run to run")
        alone = milliseconds([folder for recorded, _, folder in made if not recorded])
        recorded = milliseconds([folder for recorded, _, folder in made if recorded])
        cost = (f"CPU {alone[0]:.2f} -> {recorded[0]:.2f} ms a step ({recorded[0] / alone[0]:.2f} x), "
                f"wall {alone[1]:.2f} -> {recorded[1]:.2f} ({recorded[1] / alone[1]:.2f} x)")
    besides = f" but for {', '.join(sorted(moods))}, other in each run alone as well" if moods else ""
    print(f"{name:18} {'; '.join(problems) or f'the same in {len(made)} runs{besides}; {cost}'}", flush=True)
    return not problems


def main():
    options = parse_options(__doc__, CASES)
    with tempfile.TemporaryDirectory(prefix="gpuwitness-frameworks-") as scratch:
        runs = options.keep or pathlib.Path(scratch)
        failed = sum(not run_case(name, CASES[name], options, runs) for name in options.cases)
    print(f"{len(options.cases)} cases, {failed} failed")
    return failed > 0


sys.exit(main())
