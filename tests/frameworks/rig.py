"""What the programs of this folder share: environments, the simulated GPU without a recorder, and running a command."""
import argparse
import os
import pathlib
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
EXAMPLES = HERE.parent.parent / "examples"
PATIENCE_S = 900
# Kernels that compute nothing cannot be compared: XLA's trials would choose among equals and take minutes.
XLA_FLAGS = "--xla_gpu_autotune_level=0 --xla_gpu_enable_triton_gemm=false"
# Where a framework does not look for a library of its own wheels.
LIBRARIES = {"tensorflow": "nvidia/cusolver/lib"}
VERSIONS = {"pytorch": "import torch; print('PyTorch', torch.__version__)",
            "jax": "import jax; print('JAX', jax.__version__)",
            "tensorflow": "import tensorflow; print('TensorFlow', tensorflow.__version__)"}
# How PyTorch aborts, recorded or not, when Python (3.11 here) ends while its autograd thread still drops what the last backward() kept:
# that thread asks for Python's lock, is ended in a destructor, and C++ allows no such end.
LOST_RACE = "terminate called without an active exception"


class Failed(Exception):
    pass


def run(command, folder, environment):
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=PATIENCE_S)
    if done.returncode:
        raise Failed(f"status {done.returncode}: {' '.join(map(str, command))}\n{done.stderr[-2000:]}")
    return done.stdout


def python_of(options, framework):
    return options.wheels / framework / "bin" / "python"


def environment_of(options, framework):
    environment = {key: value for key, value in os.environ.items() if key not in ("LD_PRELOAD", "SIMGPU_CONFIG")}
    environment.update(XLA_FLAGS=XLA_FLAGS, PYTHONDONTWRITEBYTECODE="1", OMP_NUM_THREADS="1", TF_CPP_MIN_LOG_LEVEL="2")
    if framework in LIBRARIES:
        pattern = f"lib/*/site-packages/{LIBRARIES[framework]}"
        environment["LD_LIBRARY_PATH"] = str(next((options.wheels / framework).glob(pattern)))
    return environment


def simulated(build, config, environment):
    """The environment in which `record --simgpu` starts a program, without recording."""
    folder = build / "simgpu"
    paths = [str(folder), *filter(None, [environment.get("LD_LIBRARY_PATH")])]
    return {**environment, "LD_PRELOAD": ":".join(sorted(map(str, folder.glob("lib*.so.*")), reverse=True)),
            "LD_LIBRARY_PATH": ":".join(paths), "SIMGPU_CONFIG": str(config)}


def parse_options(description, known):
    """The command line: --build, --wheels, --keep, and which of `known` to run: all when none is named."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=lambda path: pathlib.Path(path).resolve(), required=True)
    parser.add_argument("--wheels", type=lambda path: pathlib.Path(path).absolute(), required=True)
    parser.add_argument("--keep", type=lambda path: pathlib.Path(path).absolute(), help="keep the recorded runs there")
    parser.add_argument("cases", nargs="*", metavar="CASE", help="all when none is named")
    options = parser.parse_args()
    unknown = set(options.cases) - set(known)
    if unknown:
        parser.error(f"no such case: {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    options.cases = options.cases or list(known)
    return options
