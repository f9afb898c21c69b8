"""Runs unmodified PyTorch, JAX and TensorFlow programs on the simulated GPU, without and with recording, and checks that both
print the same and what the report says. Called by tests/frameworks/run.

  cases.py --build DIR --wheels DIR [--keep DIR] [CASE ...]
"""
import csv
import dataclasses
import json
import pathlib
import re
import subprocess
import sys
import tempfile

from rig import EXAMPLES, HERE, LOST_RACE, VERSIONS, Failed, environment_of, parse_options, python_of, run, simulated

# So slow a GPU limits the step, however busy the machine's processors are.
SLOW_GPU = "flops_per_s 12e12\n"
TWO_GPUS = "devices 2\n"
# Whether the idle one's cost can be replayed, which makes it the longer sentence, is the machine's.
ONE_OF_TWO = r"1 (of 2 visible devices )?work in the analysed"


@dataclasses.dataclass
class Case:
    framework: str
    script: pathlib.Path
    arguments: list = dataclasses.field(default_factory=list)
    config: str = ""
    steps: int = None  # that must be found, give or take three; None: the program has another structure
    first: str = ""  # the suspect that costs most
    costs: dict = dataclasses.field(default_factory=dict)  # what a suspect costs: least and most, in percent of a step
    confirmed: set = dataclasses.field(default_factory=set)
    absent: set = dataclasses.field(default_factory=set)
    seen: dict = dataclasses.field(default_factory=dict)  # how often a step a suspect is seen; what it costs is the machine's
    says: dict = dataclasses.field(default_factory=dict)  # a regular expression that a suspect's reasons must match
    calls_most: int = None  # that the whole run may make
    kinds: set = dataclasses.field(default_factory=set)  # of operations that must be there
    kernels: set = dataclasses.field(default_factory=set)  # of whose names there must be one that contains each
    last_kernel: str = ""  # part of the name of the kernel that nearly every step ends with
    launcher: list = dataclasses.field(default_factory=list)
    tries: int = 1  # 2 where what is confirmed may be hidden by other programs that take the processors
    has_gpu: bool = True  # False: it trains on the CPU, and all it prints must be the same


def transformer(*arguments, **more):
    return Case("pytorch", HERE / "pytorch_transformer.py", list(arguments), **{"steps": 30, **more})


def train(*arguments, **more):
    return Case("jax", HERE / "jax_train.py", list(arguments), **{"steps": 30, **more})


def bert(framework, *arguments, **more):
    return Case(framework, EXAMPLES / f"bert_{framework}.py", list(arguments), **{"config": TWO_GPUS, "steps": 36,
                                                                                 "tries": 2, **more})


TORCHRUN = ["-m", "torch.distributed.run", "--nproc-per-node", "2"]
CASES = {
    "pytorch-cpu": Case("pytorch", HERE / "pytorch_cpu.py", has_gpu=False),
    "jax-cpu": Case("jax", HERE / "jax_cpu.py", has_gpu=False),
    "pytorch": transformer(kinds={"kernel", "h2d"}, absent={"recompile"}, seen={"host-sync": 0, "pageable-copy": 2}),
    "pytorch-item": transformer("--item", kinds={"d2h"}, seen={"host-sync": 1, "pageable-copy": 2}),
    "pytorch-pinned": transformer("--pinned", absent={"recompile"}, seen={"host-sync": 0, "pageable-copy": 0}),
    "pytorch-workers": transformer("--workers", "2", "--pinned"),
    "pytorch-amp": transformer("--amp"),
    "pytorch-graph": transformer("--graph", absent={"graph-recapture", "recompile"}),
    "pytorch-compile": transformer("--compile", steps=None, kinds={"kernel"}),
    "pytorch-profiler": transformer("--profile", "PROFILE.json"),
    # Its reductions come twice a parameter update; whether that costs something is the machine's.
    "pytorch-ddp": Case("pytorch", HERE / "pytorch_ddp.py", config=TWO_GPUS + SLOW_GPU, kinds={"comm"}, launcher=TORCHRUN,
                        steps=40, seen={"comm-redundant": 2}, last_kernel="multi_tensor_apply"),
    "pytorch-ddp-no-sync": Case("pytorch", HERE / "pytorch_ddp.py", ["--no-sync"], config=TWO_GPUS + SLOW_GPU, kinds={"comm"},
                                launcher=TORCHRUN, steps=40, seen={"comm-redundant": 0}, last_kernel="multi_tensor_apply"),
    "pytorch-convolution": Case("pytorch", HERE / "pytorch_convolution.py", steps=30, kinds={"kernel", "h2d"},
                                kernels={"_fprop_", "_dgrad_", "_wgrad_", "cudnn::bn_"}, absent={"recompile"}),
    "pytorch-convolution-amp": Case("pytorch", HERE / "pytorch_convolution.py", ["--amp"], steps=30,
                                    kernels={"_fprop_implicit_gemm_f16f16"}, absent={"recompile"}),
    "pytorch-fft": Case("pytorch", HERE / "pytorch_convolution.py", ["--fft"], steps=30, kernels={"vector_fft"}),
    "pytorch-solve": Case("pytorch", HERE / "pytorch_solve.py", steps=30, kernels={"cusolver_potrf", "cusolver_potrs"},
                          seen={"host-sync": 0, "pageable-copy": 2}),
    "pytorch-solve-checked": Case("pytorch", HERE / "pytorch_solve.py", ["--checked"], steps=30, kinds={"d2h"},
                                  seen={"host-sync": 1, "pageable-copy": 2}),
    "jax": train(kinds={"kernel", "h2d"}, absent={"recompile"}, seen={"host-sync": 0}),
    "jax-item": train("--item", kinds={"d2h"}, absent={"recompile"}, seen={"host-sync": 1}),
    "jax-donate": train("--donate", absent={"recompile"}),
    "jax-scan": train("--scan", "4", absent={"recompile"}),
    "jax-lengths": train("--lengths", confirmed={"recompile"}),
    "jax-prefetch": train("--prefetch", absent={"recompile"}),
    # XLA reduces so little among two devices by a kernel of its own, not by NCCL.
    "jax-sharding": train("--sharding", config=TWO_GPUS, kinds={"p2p"}, absent={"idle-device"}),
    "jax-pmap": train("--pmap", config=TWO_GPUS, kinds={"p2p"}, absent={"idle-device"}),
    "jax-profiler": train("--profile", "PROFILE"),
    "jax-convolution": Case("jax", HERE / "jax_convolution.py", steps=30, kernels={"_fprop_", "_dgrad_", "_wgrad_"},
                            absent={"recompile"}, seen={"host-sync": 0}),
    "jax-fft": Case("jax", HERE / "jax_convolution.py", ["--fft"], steps=30, kernels={"vector_fft"}, absent={"recompile"}),
    "jax-solve": Case("jax", HERE / "jax_solve.py", steps=30, kernels={"cusolver_potrf", "trsm_kernel"}, absent={"recompile"},
                      seen={"host-sync": 0}),
    "tensorflow": Case("tensorflow", HERE / "tensorflow_train.py", steps=30, kernels={"_fprop_", "_dgrad_", "_wgrad_", "gemm"},
                       absent={"recompile"}, seen={"host-sync": 0, "pageable-copy": 2}),
    "tensorflow-item": Case("tensorflow", HERE / "tensorflow_train.py", ["--item"], steps=30, kinds={"d2h"},
                            absent={"recompile"}, seen={"host-sync": 1, "pageable-copy": 2}),
    # What is planted is named: new lengths, a Python loop of many small calls, uploads of pageable memory or of the same
    # scalars, reads, an idle device. Each switch clears its own, and what it has nothing to do with stays.
    "bert-pytorch": bert("pytorch", first="dispatch-bound", costs={"dispatch-bound": (25, 100)}, absent={"recompile"},
                         seen={"pageable-copy": 12, "host-sync": 4}, says={"idle-device": ONE_OF_TWO}),
    "bert-pytorch-pinned": bert("pytorch", "--pinned", first="dispatch-bound", absent={"recompile"},
                                seen={"pageable-copy": 0, "host-sync": 4}, says={"idle-device": ONE_OF_TWO}),
    "bert-pytorch-quiet": bert("pytorch", "--quiet", first="dispatch-bound", absent={"recompile"},
                               seen={"pageable-copy": 12, "host-sync": 1}, says={"idle-device": ONE_OF_TWO}),
    "bert-pytorch-compile": bert("pytorch", "--pad", "--pinned", "--quiet", "--compile", absent={"recompile"},
                                 seen={"pageable-copy": 0, "host-sync": 1}, calls_most=700000),
    "bert-jax": bert("jax", first="recompile", costs={"recompile": (25, 100)}, confirmed={"dispatch-bound"},
                     seen={"repeated-upload": 24, "tiny-copies": 32}, says={"idle-device": ONE_OF_TWO}),
    "bert-jax-pad": bert("jax", "--pad", first="dispatch-bound", costs={"dispatch-bound": (20, 100), "host-blocked": (5, 100)},
                         absent={"recompile"}, seen={"repeated-upload": 24, "tiny-copies": 32},
                         says={"idle-device": ONE_OF_TWO}),
    "bert-jax-scan": bert("jax", "--scan", first="host-blocked", costs={"dispatch-bound": (0, 10)}, absent={"recompile"},
                          seen={"repeated-upload": 0, "tiny-copies": 0}, says={"idle-device": ONE_OF_TWO},
                          calls_most=15000),
    "bert-jax-devices": bert("jax", "--scan", "--prefetch", "--devices", costs={"dispatch-bound": (0, 15)},
                             absent={"recompile", "idle-device"}, seen={"repeated-upload": 0, "tiny-copies": 0},
                             says={"idle-device": "2 of 2 visible devices work"}),
}
# What `diff` says of two cases, when both are run: the part that explains most of it, and what its first lines contain.
DIFFERENCES = [("bert-pytorch", "bert-jax", "idle_blocked", "recompile is confirmed in B only"),
               ("bert-jax", "bert-jax-pad", "idle_blocked", "recompile is confirmed in A only"),
               ("bert-jax-pad", "bert-jax-scan", "idle_blocked", "B takes"),
               ("bert-jax-scan", "bert-jax-devices", "idle_blocked", "2 devices reach")]


def said(text):
    """What a program printed; the lines of frameworks' own loggers carry times."""
    return [line for line in text.splitlines() if "steps" in line]


def rows_of(folder, name):
    with open(folder / "csv" / name, newline="") as rows:
        return list(csv.DictReader(rows))


def last_kernels(operations, folder):
    """The name of the last kernel that each step launched."""
    begins = {call["call_id"]: int(call["begin_ns"]) for call in rows_of(folder, "calls.csv")}
    launched = sorted((begins[row["call_id"]], row["process"], row["name"]) for row in operations
                      if row["kind"] == "kernel" and row["call_id"] in begins)
    steps = [(int(step["begin_ns"]), int(step["end_ns"]), step["process"]) for step in rows_of(folder, "steps.csv")]
    within = [[name for at, of, name in launched if of == process and begin <= at < end] for begin, end, process in steps]
    return [names[-1] for names in within if names]


def check(case, report, operations, folder):
    kinds, names = {row["kind"] for row in operations}, {row["name"] for row in operations}
    faults = {verdict["id"] for verdict in report["verdicts"] if verdict["verdict"] == "confirmed"}
    problems = [f"{name} is not confirmed" for name in case.confirmed - faults]
    leading = report["verdicts"][0]
    if case.first and (leading["id"], leading["verdict"]) != (case.first, "confirmed"):
        problems.append(f"{case.first} does not come first")
    problems += [f"{name} is confirmed" for name in case.absent & faults]
    saved = {verdict["id"]: verdict["saving_percent"] or 0 for verdict in report["verdicts"]}
    problems += [f"{name} costs {saved[name]:.1f} % of a step" for name, (least, most) in case.costs.items()
                 if not least <= saved[name] <= most]
    often = {verdict["id"]: verdict["per_step"] for verdict in report["verdicts"]}
    problems += [f"{name} is seen {often[name]:.2f} times a step, not {count}" for name, count in case.seen.items()
                 if abs(often[name] - count) > max(0.1, 0.05 * count)]
    why = {verdict["id"]: verdict["why"] for verdict in report["verdicts"]}
    problems += [f"{name} says: {why[name]}" for name, text in case.says.items() if not re.search(text, why[name])]
    if case.calls_most and report["coverage"]["calls"] > case.calls_most:
        problems.append("too many calls")
    problems += [f"no operation of kind {kind}" for kind in case.kinds - kinds]
    problems += [f"no kernel {part}" for part in case.kernels if not any(part in name for name in names)]
    last = last_kernels(operations, folder) if case.last_kernel else []
    if sum(case.last_kernel in name for name in last) < 0.8 * len(last):
        problems.append(f"steps end with {max(set(last), key=last.count)}")
    if report["coverage"]["lost_events"]:
        problems.append(f"{report['coverage']['lost_events']} events are lost")
    if case.steps and abs(report["steps"]["count"] - case.steps) > 3:
        problems.append(f"{report['steps']['count']} steps are found, not {case.steps}")
    return problems


def run_without_gpu(name, program, gpuwitness, folder, environment):
    environment = {**environment, "JAX_PLATFORMS": "cpu"}
    alone = run(program, folder, environment)
    recorded = run([gpuwitness, "record", "-q", "-o", folder / "run", "--", *program], folder, environment)
    same = alone == recorded and len(alone.splitlines()) > 50
    print(f"{name:23} {'':6} {'':10} {'':9} {'':7} {'':16} {'as wanted' if same else 'it prints something else recorded'}",
          flush=True)
    return same


def run_case(name, case, options, folder):
    gpuwitness = options.build / "bin" / "gpuwitness"
    config = folder / "simgpu.conf"
    config.write_text(case.config)
    environment = environment_of(options, case.framework)
    program = [python_of(options, case.framework), *case.launcher, case.script, *case.arguments]
    if not case.has_gpu:
        return run_without_gpu(name, program, gpuwitness, folder, environment)
    alone = run(program, folder, simulated(options.build, config, environment))
    recorded = run([gpuwitness, "record", "-q", f"--simgpu={config}", "-o", folder / "run", "--", *program], folder, environment)
    report = json.loads(run([gpuwitness, "report", "--json", folder / "run"], folder, None))
    run([gpuwitness, "export", "--format", "csv", "-o", folder / "csv", folder / "run"], folder, None)
    problems = check(case, report, rows_of(folder, "ops.csv"), folder)
    if not said(alone) or said(alone) != said(recorded):
        problems.append(f"it printed {said(recorded)} recorded and {said(alone)} alone")
    steps, first = report["steps"], next((v for v in report["verdicts"] if v["verdict"] == "confirmed"), None)
    print(f"{name:23} {steps['count']:6} {steps['median_ms'] or 0:10.2f} {report['coverage']['calls']:9} "
          f"{report['coverage']['gpu_timing']:7} {first['id'] if first else '-':16} {'; '.join(problems) or 'as wanted'}",
          flush=True)
    return not problems


def differs(gpuwitness, before, after, part, wanted):
    """The parts of a difference sum to it, the greatest is the wanted one and named first, and so is what is to blame."""
    found = json.loads(run([gpuwitness, "diff", "--json", before / "run", after / "run"], None, None))
    changes = {name: of["change_ms"] for name, of in found["classes"].items()}
    answer = " ".join(filter(None, [found["answer"], (found["scaling"] or {}).get("why")]))
    problems = [] if wanted in answer else [f"it says: {answer}"]
    whole = found["step"]["change_ms"]
    if abs(sum(changes.values()) - whole) > 1e-6 * abs(whole):
        problems.append(f"its parts sum to {sum(changes.values())} ms, not {whole}")
    largest = max(changes, key=lambda name: abs(changes[name]))
    if (part and largest != part) or f"The largest part is {largest}" not in found["answer"]:
        problems.append(f"the largest part is {largest}")
    print(f"diff {before.name} {after.name}: {'; '.join(problems) or 'as wanted'}", flush=True)
    return not problems


def run_or_retry(name, case, options, runs):
    attempt, races = 0, 0
    while attempt < case.tries:
        folder = runs / (name + "-again" * (attempt + races))
        folder.mkdir(parents=True)
        try:
            if run_case(name, case, options, folder):
                return folder
        except (Failed, subprocess.TimeoutExpired) as error:
            print(f"{name:23} {error}", flush=True)
            if LOST_RACE in str(error) and races < 2:
                races += 1
                continue
        attempt += 1
    return None


def main():
    options = parse_options(__doc__, CASES)
    for framework in sorted({CASES[name].framework for name in options.cases}):
        print(run([python_of(options, framework), "-c", VERSIONS[framework]], None, None), end="")
    print(f"{'case':23} {'steps':>6} {'step ms':>10} {'calls':>9} {'timing':7} {'first':16}")
    with tempfile.TemporaryDirectory(prefix="gpuwitness-frameworks-") as scratch:
        folders = {name: run_or_retry(name, CASES[name], options, options.keep or pathlib.Path(scratch))
                   for name in options.cases}
        failed = sum(folder is None for folder in folders.values())
        for before, after, part, wanted in DIFFERENCES:
            if folders.get(before) and folders.get(after):
                failed += not differs(options.build / "bin" / "gpuwitness", folders[before], folders[after], part, wanted)
    print(f"{len(options.cases)} cases, {failed} failed")
    return failed > 0


sys.exit(main())
