#!/usr/bin/env python3
"""Records every scenario of the zoo and draws every plot of it: none may have a fault in its layout.

    tests/plots/check_zoo.py --gpuwitness FILE --check-runs FILE --programs DIRECTORY [--keep DIRECTORY] [SCENARIO...]

With --keep the runs and the pictures stay in that directory, to be looked at."""
import argparse
import importlib.machinery
import importlib.util
import pathlib
import subprocess
import sys
import tempfile

SCENARIOS = pathlib.Path(__file__).resolve().parent.parent / "scenarios"


def zoo():
    """The runner of the zoo, which knows how a scenario is described."""
    loader = importlib.machinery.SourceFileLoader("zoo", str(SCENARIOS / "run"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("zoo", loader))
    loader.exec_module(module)
    return module


def record(options, scenario, directory):
    run = directory / scenario.name
    simgpu = "--simgpu"
    if scenario.config:
        config = directory / f"{scenario.name}.conf"
        config.write_text("\n".join(scenario.config) + "\n")
        simgpu += f"={config}"
    command = [options.gpuwitness, "record", "-q", simgpu, "-o", run, "--", options.programs / scenario.name]
    result = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    if result.returncode != 0:
        sys.exit(f"{scenario.name} ended with {result.returncode}: {result.stderr.strip()}")
    return run


def main():
    sys.dont_write_bytecode = True
    parser = argparse.ArgumentParser(description="Draw every plot of every scenario.")
    parser.add_argument("--gpuwitness", type=pathlib.Path, required=True, metavar="FILE")
    parser.add_argument("--check-runs", type=pathlib.Path, required=True, metavar="FILE")
    parser.add_argument("--programs", type=pathlib.Path, required=True, metavar="DIRECTORY")
    parser.add_argument("--keep", type=pathlib.Path, metavar="DIRECTORY")
    parser.add_argument("scenarios", nargs="*", metavar="SCENARIO")
    options = parser.parse_args()
    paths = sorted((SCENARIOS / "cases").glob("*.c"))
    chosen = [path for path in paths if not options.scenarios or path.stem in options.scenarios]
    if not chosen:
        sys.exit("no such scenario")
    runner = zoo()
    with tempfile.TemporaryDirectory() as temporary:
        directory = options.keep or pathlib.Path(temporary)
        directory.mkdir(parents=True, exist_ok=True)
        runs = [record(options, runner.Scenario(path), directory) for path in chosen]
        return subprocess.run(list(map(str, [options.check_runs, directory, *runs])), check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
