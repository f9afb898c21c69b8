"""Runs unmodified PyTorch, JAX and TensorFlow programs on the simulated GPU, without and with recording, and checks that both
print the same and what the report says. Called by tests/frameworks/run.

  cases.py --build DIR --wheels DIR [--keep DIR] [CASE ...]
"""
import argparse
import csv
import dataclasses
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
EXAMPLES = HERE.parent.parent / "examples"
PATIENCE_S = 900
# Kernels that compute nothing cannot be compared: XLA's trials would choose among equals and take minutes.
XLA_FLAGS = "--xla_gpu_autotune_level=0 --xla_gpu_enable_triton_gemm=false"
# So slow a GPU limits the step, however busy the machine's processors are.
SLOW_GPU = "flops_per_s 12e12\n"
TWO_GPUS = "devices 2\n"
# Where a framework does not look for a library of its own wheels.
LIBRARIES = {"tensorflow": "nvidia/cusolver/lib"}


@dataclasses.dataclass
class Case:
    framework: str
    script: pathlib.Path
    arguments: list = dataclasses.field(default_factory=list)
    config: str = ""
    steps: int = None  # that must be found, give or take three; None: the program has another structure
    confirmed: set = dataclasses.field(default_factory=set)
    absent: set = dataclasses.field(default_factory=set)
    seen: dict = dataclasses.field(default_factory=dict)  # how often a step a suspect is seen; what it costs is the machine's
    says: dict = dataclasses.field(default_factory=dict)  # what a suspect's reasons must contain
    calls_most: int = None  # that the whole run may make
    kinds: set = dataclasses.field(default_factory=set)  # of operations that must be there
    kernels: set = dataclasses.field(default_factory=set)  # of whose names there must be one that contains each
    last_kernel: str = ""  # part of the name of the kernel that nearly every step ends with
    launcher: list = dataclasses.field(default_factory=list)
    has_gpu: bool = True  # False: it trains on the CPU, and all it prints must be the same


def transformer(*arguments, **more):
    return Case("pytorch", HERE / "pytorch_transformer.py", list(arguments), **{"steps": 30, **more})


def train(*arguments, **more):
    return Case("jax", HERE / "jax_train.py", list(arguments), **{"steps": 30, **more})


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
    "tensorflow": Case("tensorflow", HERE / "tensorflow_train.py", steps=30, kernels={"_fprop_", "_dgrad_", "_wgrad_", "gemm"},
                       absent={"recompile"}, seen={"host-sync": 0, "pageable-copy": 2}),
    "tensorflow-item": Case("tensorflow", HERE / "tensorflow_train.py", ["--item"], steps=30, kinds={"d2h"},
                            absent={"recompile"}, seen={"host-sync": 1, "pageable-copy": 2}),
    # What is planted in bert_jax.py is named: new lengths, a Python loop of many calls that uploads from NumPy, an idle device.
    # --pad, --scan and --devices clear them one by one.
    "bert-pytorch": Case("pytorch", EXAMPLES / "bert_pytorch.py", config=TWO_GPUS, steps=36, absent={"recompile"},
                         seen={"pageable-copy": 12}, says={"idle-device": "1 work in the analysed steps"}),
    "bert-pytorch-compile": Case("pytorch", EXAMPLES / "bert_pytorch.py", ["--pad", "--pinned", "--quiet", "--compile"],
                                 config=TWO_GPUS, absent={"recompile"}, seen={"pageable-copy": 0}),
    "bert-jax": Case("jax", EXAMPLES / "bert_jax.py", config=TWO_GPUS, steps=36, confirmed={"recompile"},
                     seen={"repeated-upload": 24}, says={"idle-device": "1 of 2 visible devices work"}),
    "bert-jax-pad": Case("jax", EXAMPLES / "bert_jax.py", ["--pad"], config=TWO_GPUS, steps=36, absent={"recompile"},
                         seen={"repeated-upload": 24}),
    "bert-jax-scan": Case("jax", EXAMPLES / "bert_jax.py", ["--scan"], config=TWO_GPUS, steps=36, absent={"recompile"},
                          seen={"repeated-upload": 0}, says={"idle-device": "1 work"}, calls_most=15000),
    "bert-jax-devices": Case("jax", EXAMPLES / "bert_jax.py", ["--scan", "--prefetch", "--devices"], config=TWO_GPUS, steps=36,
                             absent={"recompile", "idle-device"}, seen={"repeated-upload": 0},
                             says={"idle-device": "2 of 2 visible devices work"}),
}
# What `diff` says of two cases, when both are run.
DIFFERENCES = [("bert-pytorch", "bert-jax", "recompile is confirmed in B only"),
               ("bert-jax-scan", "bert-jax-devices", "2 devices reach")]


class Failed(Exception):
    pass


def run(command, folder, environment):
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=PATIENCE_S)
    if done.returncode:
        raise Failed(f"status {done.returncode}: {' '.join(map(str, command))}\n{done.stderr[-2000:]}")
    return done.stdout


def simulated(build, config, environment):
    """The environment in which `record --simgpu` starts a program, without recording."""
    folder = build / "simgpu"
    paths = [str(folder), *filter(None, [environment.get("LD_LIBRARY_PATH")])]
    return {**environment, "LD_PRELOAD": ":".join(sorted(map(str, folder.glob("lib*.so.*")), reverse=True)),
            "LD_LIBRARY_PATH": ":".join(paths), "SIMGPU_CONFIG": str(config)}


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
    problems += [f"{name} is confirmed" for name in case.absent & faults]
    often = {verdict["id"]: verdict["per_step"] for verdict in report["verdicts"]}
    problems += [f"{name} is seen {often[name]:.2f} times a step, not {count}" for name, count in case.seen.items()
                 if abs(often[name] - count) > max(0.1, 0.05 * count)]
    why = {verdict["id"]: verdict["why"] for verdict in report["verdicts"]}
    problems += [f"{name} says: {why[name]}" for name, text in case.says.items() if text not in why[name]]
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
    python = options.wheels / case.framework / "bin" / "python"
    config = folder / "simgpu.conf"
    config.write_text(case.config)
    environment = {key: value for key, value in os.environ.items() if key not in ("LD_PRELOAD", "SIMGPU_CONFIG")}
    environment.update(XLA_FLAGS=XLA_FLAGS, PYTHONDONTWRITEBYTECODE="1", OMP_NUM_THREADS="1", TF_CPP_MIN_LOG_LEVEL="2")
    if case.framework in LIBRARIES:
        pattern = f"lib/*/site-packages/{LIBRARIES[case.framework]}"
        environment["LD_LIBRARY_PATH"] = str(next((options.wheels / case.framework).glob(pattern)))
    program = [python, *case.launcher, case.script, *case.arguments]
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


def differs(gpuwitness, folder, before, after, wanted):
    said = run([gpuwitness, "diff", folder / before / "run", folder / after / "run"], folder, None)
    found = wanted in " ".join(said.split())
    print(f"diff {before} {after}: {'as wanted' if found else said}", flush=True)
    return found


def versions(options):
    for framework, text in (("pytorch", "import torch; print('PyTorch', torch.__version__)"),
                            ("jax", "import jax; print('JAX', jax.__version__)"),
                            ("tensorflow", "import tensorflow; print('TensorFlow', tensorflow.__version__)")):
        print(run([options.wheels / framework / "bin" / "python", "-c", text], None, None), end="")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=lambda path: pathlib.Path(path).resolve(), required=True)
    parser.add_argument("--wheels", type=lambda path: pathlib.Path(path).absolute(), required=True)
    parser.add_argument("--keep", type=lambda path: pathlib.Path(path).absolute(), help="keep the recorded runs there")
    parser.add_argument("cases", nargs="*", metavar="CASE", help="all when none is named")
    options = parser.parse_args()
    unknown = set(options.cases) - set(CASES)
    if unknown:
        parser.error(f"no such case: {', '.join(sorted(unknown))}; there are {', '.join(CASES)}")
    versions(options)
    print(f"{'case':23} {'steps':>6} {'step ms':>10} {'calls':>9} {'timing':7} {'first':16}")
    failed, chosen = 0, options.cases or list(CASES)
    with tempfile.TemporaryDirectory(prefix="gpuwitness-frameworks-") as scratch:
        runs = options.keep or pathlib.Path(scratch)
        for name in chosen:
            folder = runs / name
            folder.mkdir(parents=True)
            try:
                failed += not run_case(name, CASES[name], options, folder)
            except (Failed, subprocess.TimeoutExpired) as error:
                failed += 1
                print(f"{name:23} {error}", flush=True)
        for before, after, wanted in DIFFERENCES:
            if (runs / before / "run").is_dir() and (runs / after / "run").is_dir() and {before, after} <= set(chosen):
                failed += not differs(options.build / "bin" / "gpuwitness", runs, before, after, wanted)
    print(f"{len(chosen)} cases, {failed} failed")
    return failed > 0


sys.exit(main())
