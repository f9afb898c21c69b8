#!/usr/bin/env python3
"""From one device to two on the simulated GPU, with planted losses: the split must find each, and sum to the loss.

    check_scaling.py GPUWITNESS DDP_LOOP SCHEMA

The times of kernels, links and copies are the simulated GPU's, and so are the expected losses; of the host's only a large
planted one is looked for, as they depend on the machine."""
import json
import pathlib
import subprocess
import sys
import tempfile

try:
    import jsonschema
except ImportError:
    jsonschema = None

FAULTS = []
PLAIN = "devices 2\nnccl_gbps 100\nh2d_pinned_gbps 20\n"
KERNELS_MS = 2 * 4 * (0.06 + 0.12) + 0.08  # of a step of ddp_loop
COPIES = 2  # of a batch each
BATCH_BYTES = 1 << 18
BUCKET_BYTES = 1 << 18

# What is planted: settings of the simulated GPU, and the least and the most that the part may be, in ms.
CASES = {
    "slower kernels": ("slowdown 0 1.5\nslowdown 1 1.5\n", 0.97 * KERNELS_MS / 2, 1.03 * KERNELS_MS / 2),
    # Four reductions, of which the backward pass hides a part.
    "added communication": ("nccl_gbps 0.5\n", 4 * BUCKET_BYTES / 0.5e6 - 4 * 0.12, 1.05 * 4 * BUCKET_BYTES / 0.5e6),
    # One of two waits for three times its own time, and both for a host that comes late.
    "waiting for stragglers": ("slowdown 1 4\n", 0.9 * 3 * KERNELS_MS / 2, 2 * 3 * KERNELS_MS / 2),
    "lost overlap": ("h2d_pinned_gbps 0.5\n", 0.95 * COPIES * BATCH_BYTES * (1 / 0.5e6 - 1 / 20e6),
                     1.05 * COPIES * BATCH_BYTES * (1 / 0.5e6 - 1 / 20e6)),
    "host contention": ("api_cost_ns cudaGetLastError 300000\n", 3, 100),
}


def expect(holds, what):
    if not holds:
        print("FAULT:", what)
        FAULTS.append(what)


def main():
    gpuwitness, program, schema_path = sys.argv[1:4]
    validator = jsonschema and jsonschema.Draft202012Validator(json.loads(pathlib.Path(schema_path).read_text()))
    with tempfile.TemporaryDirectory(prefix="gw-scaling-") as name:
        folder = pathlib.Path(name)

        def record(target, settings, ranks):
            config = folder / f"{target}.conf"
            # A later line of a key replaces an earlier one.
            config.write_text(PLAIN + settings)
            subprocess.run([gpuwitness, "record", "-q", "--gpu-timing=cupti", f"--simgpu={config}", "-o",
                            folder / target, "--", program, "--ranks", str(ranks), "--steps", "20"],
                           check=True, stdout=subprocess.DEVNULL)

        def diff(*words):
            done = subprocess.run([gpuwitness, "diff", *map(str, words)], capture_output=True, text=True, check=True)
            return done.stdout

        record("one", "", 1)
        for number, (part, (settings, least_ms, most_ms)) in enumerate(CASES.items()):
            target = f"case-{number}"
            record(target, settings, 2)
            whole = json.loads(diff("--json", folder / "one", folder / target))
            for error in validator.iter_errors(whole) if validator else ():
                expect(False, f"schema: {error.json_path}: {error.message}")
            scaling = whole["scaling"]
            parts = {key: value["ms"] for key, value in scaling["parts"].items()}
            print(f"{part}: {scaling['efficiency_percent']:.0f} % of perfect;",
                  ", ".join(f"{key} {ms:+.3f} ms" for key, ms in parts.items()))
            expect((scaling["devices_a"], scaling["devices_b"]) == (1, 2), f"{part}: devices")
            expect(abs(sum(parts.values()) - scaling["loss"]["ms"]) < 1e-9, f"{part}: parts do not sum to the loss")
            expect(abs(scaling["ideal_ms"] - whole["step"]["a_ms"]) < 1e-9, f"{part}: ideal")
            expect(least_ms <= parts[part] <= most_ms, f"{part}: {parts[part]} is not within {least_ms} and {most_ms}")
            expect(max(parts, key=parts.get) == part or part != "host contention", f"{part} is not the largest")
            expect(scaling["verdict"] in ("confirmed", "ruled-out"), scaling["verdict"])
            expect("From 1 to 2 devices" in diff(folder / "one", folder / target), f"{part}: text")
            expect("### From 1 to 2 devices" in diff("--md", folder / "one", folder / target), f"{part}: Markdown")
        for what, status in (("scaling>0.1", 3), ("scaling>1000", 0), ("scaling>20%", 3), ("scaling>100000%", 0)):
            done = subprocess.run([gpuwitness, "diff", "--fail-on", what, folder / "one", folder / "case-4"],
                                  capture_output=True, check=False)
            expect(done.returncode == status, f"--fail-on {what}: {done.returncode}")
        # The same work in all: a unit should take half as long.
        units = json.loads(diff("--json", "--per", "sample=32", folder / "one", folder / "case-0"))
        expect(abs(units["scaling"]["ideal_ms"] - units["step"]["a_ms"] / 2) < 1e-9, "ideal of a unit")
        expect(abs(sum(p["ms"] for p in units["scaling"]["parts"].values()) - units["scaling"]["loss"]["ms"]) < 1e-9,
               "parts of a unit")
        expect(json.loads(diff("--json", folder / "one", folder / "one"))["scaling"] is None, "as many devices")
    print(f"{len(FAULTS)} faults")
    return 1 if FAULTS else 0


sys.exit(main())
