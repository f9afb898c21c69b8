#!/usr/bin/env python3
"""From one device to 2, 4 and 8 on the simulated GPU, with planted losses: the split must name each first, with what it
costs to within 10 %, and sum to the loss.

    check_scaling.py GPUWITNESS DDP_LOOP SCHEMA

What a loss costs follows from the settings of the simulated GPU. Everything on the devices takes many times as long as
ddp_loop asks for, so that the machine's own speed matters little; a case that fails is recorded once more. Of the host only
a large planted loss is looked for: threads that share CPUs also come late in turns, which is waiting."""
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
COUNTS, STEPS = (2, 4, 8), 14
SLOW = 25
PLAIN = "devices 8\nnccl_gbps 100\nh2d_pinned_gbps 20\n"
BACKWARD_MS, BATCH_BYTES, BUCKET_BYTES = SLOW * 0.12, 1 << 18, 1 << 18
KERNELS_MS = SLOW * (2 * 4 * (0.06 + 0.12) + 0.08)  # of a step of ddp_loop
SLOW_GBPS = 0.02
TOLERANCE = 0.10


def slowdown(count, factor, last=None):
    return "".join(f"slowdown {d} {last if last and d == count - 1 else factor}\n" for d in range(count))


# What is planted, by the number of devices: settings of the simulated GPU, of which a later line of a key replaces an
# earlier one, and what they cost a step.
CASES = {
    "slower kernels": lambda count: (slowdown(count, 1.5 * SLOW), KERNELS_MS / 2),
    # Four reductions one after the other, of which the first begins three layers before the backward pass ends.
    "added communication": lambda count: (slowdown(count, SLOW) + f"nccl_gbps {SLOW_GBPS}\n",
                                          4 * 2 * (count - 1) / count * BUCKET_BYTES / SLOW_GBPS / 1e6 - 3 * BACKWARD_MS),
    "waiting for stragglers": lambda count: (slowdown(count, SLOW, 2 * SLOW), KERNELS_MS),
    "lost overlap": lambda count: (slowdown(count, SLOW) + f"h2d_pinned_gbps {SLOW_GBPS}\n",
                                   2 * BATCH_BYTES * (1 / SLOW_GBPS - 1 / 20) / 1e6),
    "host contention": lambda count: (slowdown(count, SLOW) + "api_cost_ns cudaGetLastError 5000000\n", None),
}


def expect(holds, what):
    if not holds:
        print("FAULT:", what)
        FAULTS.append(what)
    return holds


def main():
    gpuwitness, program, schema_path = sys.argv[1:4]
    validator = jsonschema and jsonschema.Draft202012Validator(json.loads(pathlib.Path(schema_path).read_text()))
    with tempfile.TemporaryDirectory(prefix="gw-scaling-") as name:
        folder = pathlib.Path(name)

        def record(target, settings, ranks):
            config = folder / f"{target}.conf"
            config.write_text(PLAIN + settings)
            subprocess.run([gpuwitness, "record", "-q", "--gpu-timing=cupti", f"--simgpu={config}", "-o",
                            folder / target, "--", program, "--ranks", str(ranks), "--steps", str(STEPS)],
                           check=True, stdout=subprocess.DEVNULL)

        def diff(*words):
            done = subprocess.run([gpuwitness, "diff", *map(str, words)], capture_output=True, text=True, check=True)
            return done.stdout

        def check(part, target, count, cost_ms):
            whole = json.loads(diff("--json", folder / "one", folder / target))
            for error in validator.iter_errors(whole) if validator else ():
                expect(False, f"schema: {error.json_path}: {error.message}")
            scaling = whole["scaling"]
            parts = {key: value["ms"] for key, value in scaling["parts"].items()}
            loss_ms = scaling["loss"]["ms"]
            expect((scaling["devices_a"], scaling["devices_b"]) == (1, count), f"{target}: devices")
            # twelve digits are written: a step of a second, on a busy machine, has fewer behind the point
            expect(abs(sum(parts.values()) - loss_ms) < 1e-9 * max(1, abs(loss_ms)),
                   f"{target}: parts do not sum to the loss")
            expect(abs(scaling["ideal_ms"] - whole["step"]["a_ms"]) < 1e-9, f"{target}: ideal")
            expect(scaling["verdict"] == "confirmed", f"{target}: {scaling['verdict']}")
            said_ms = parts[part]
            if cost_ms is None:
                cost_ms, said_ms = loss_ms, said_ms + parts["waiting for stragglers"]
            print(f"{count} devices, {part}: {scaling['efficiency_percent']:.0f} % of perfect, costs {cost_ms:.3f} ms;",
                  ", ".join(f"{key} {ms:+.3f}" for key, ms in parts.items()), flush=True)
            is_first = max(parts, key=parts.get) == part
            return [] if is_first and abs(said_ms - cost_ms) <= TOLERANCE * cost_ms else [
                f"{target}: {said_ms:.3f} ms of {cost_ms:.3f} are said to be {part}" + ("" if is_first else ", not first")]

        record("one", slowdown(1, SLOW), 1)
        for count in COUNTS:
            for number, (part, planted) in enumerate(CASES.items()):
                settings, cost_ms = planted(count)
                for attempt in "ab":
                    target = f"case-{count}-{number}{attempt}"
                    record(target, settings, count)
                    faults = check(part, target, count, cost_ms)
                    if not faults:
                        break
                expect(not faults, "; ".join(faults))
        last = folder / target
        expect(f"From 1 to {COUNTS[-1]} devices" in diff(folder / "one", last), "text")
        expect(f"### From 1 to {COUNTS[-1]} devices" in diff("--md", folder / "one", last), "Markdown")
        for what, status in (("scaling>0.1", 3), ("scaling>100000", 0), ("scaling>20%", 3), ("scaling>100000%", 0)):
            done = subprocess.run([gpuwitness, "diff", "--fail-on", what, folder / "one", last], capture_output=True,
                                  check=False)
            expect(done.returncode == status, f"--fail-on {what}: {done.returncode}")
        # The same work in all: a unit should take half as long.
        units = json.loads(diff("--json", "--per", "sample=32", folder / "one", folder / "case-2-0a"))
        expect(abs(units["scaling"]["ideal_ms"] - units["step"]["a_ms"] / 2) < 1e-9, "ideal of a unit")
        expect(abs(sum(p["ms"] for p in units["scaling"]["parts"].values()) - units["scaling"]["loss"]["ms"]) < 1e-9,
               "parts of a unit")
        expect(json.loads(diff("--json", folder / "one", folder / "one"))["scaling"] is None, "as many devices")
    print(f"{len(FAULTS)} faults")
    return 1 if FAULTS else 0


sys.exit(main())
