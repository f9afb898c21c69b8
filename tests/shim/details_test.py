"""details_test.py BUILD_DIR PROGRAM HURRIED_DRIVER: what the records of a call say beside its name, and that errno is the program's."""
import os
import re
import subprocess
import sys
import tempfile

build, program, hurried_driver = sys.argv[1:]
OP_INDEX, CAPTURED = 0x3f, 0x40  # shim/api/codes.h
PAGEABLE, NON_BLOCKING = 1, 1
FAULTS = []


def expect(holds, what):
    if not holds:
        print("FAULT:", what)
        FAULTS.append(what)


def run(command, **environment):
    done = subprocess.run(command, env=dict(os.environ, **environment), capture_output=True, text=True, timeout=60, check=False)
    if done.returncode != 0:
        sys.exit(f"details_test: {command}: {done.returncode}, {done.stderr}")
    return done.stdout


def record(name, *words):
    run([f"{build}/bin/gpuwitness", "record", "-q", f"--simgpu={work}/simgpu.conf", "-o", f"{work}/{name}", *words])
    events = []
    for line in run(["babeltrace2", "--clock-cycles", f"{work}/{name}/trace"]).splitlines():
        time, kind, fields = re.match(r"\[(\d+)\].* gpuwitness:(\w+): \{.*?\}, \{ (.*) \}$", line).groups()
        array = [int(number) for number in re.findall(r"\[\d+\] = (-?\d+)", fields)]
        events.append((kind, int(time), array or {name: int(value) for name, value in re.findall(r"(\w+) = (-?\d+)", fields)}))
    return events


with tempfile.TemporaryDirectory() as work:
    open(work + "/simgpu.conf", "w").close()
    alone = run([program, work + "/alone.truth"], LD_PRELOAD=hurried_driver, LD_LIBRARY_PATH=build + "/simgpu", SIMGPU_CONFIG=work + "/simgpu.conf")
    expect("the same handle" in alone, f"no stream has the handle of one before it: {alone}")
    events = record("run", "--", program, work + "/truth")
    said = subprocess.run([f"{build}/bin/gpuwitness", "record", "-q", f"--simgpu={work}/simgpu.conf", "-o", f"{work}/hurried", "--", program,
                           work + "/other.truth"], env=dict(os.environ, LD_PRELOAD=hurried_driver), capture_output=True, text=True, check=False)
    expect(said.stdout == alone, f"results and errno when recorded: {said.stdout!r} {said.stderr!r}, alone {alone!r}")

    sizes = {"copy": 6, "memset": 5}
    by_size = {array[sizes[kind]]: array for kind, _, array in events if kind in sizes}
    flags = {size: array[2] & 0xff for size, array in by_size.items()}
    for size, captured in ((4001, 0), (4003, 0), (4005, 0), (5001, CAPTURED), (5002, 0), (6001, 0)):
        expect(flags[size] & CAPTURED == captured, f"{size} bytes: captured or not, {flags}")
        expect((flags[size] & OP_INDEX != 0) == (captured == 0), f"{size} bytes: whether they are an operation on the device, {flags}")
    expect(by_size[4004][3] != 0 and flags[4004] & OP_INDEX == 0, f"a memset that failed is an operation: {by_size[4004]}")
    # The bytes of a copy to the host are looked at only when they have arrived.
    hashes = {size: by_size[size][9] for size in (4001, 4002, 4003)}
    expect(hashes[4001] and hashes[4002] and not hashes[4003], f"hashes of copies: {hashes}")
    # Once a broken capture has ended, the driver is asked again what memory is.
    expect(by_size[5003][8] >> 8 & 0xff == PAGEABLE, f"kind of memory after a broken capture: {by_size[5003]}")

    handle = by_size[6001][6]
    expect(by_size[6002][6] == handle, "two streams of one handle")
    streams = [fields for kind, _, fields in events if kind == "stream" and fields["stream"] == handle]
    expect([fields["flags"] for fields in streams[-2:]] == [0, NON_BLOCKING] and streams[-2]["number"] != streams[-1]["number"],
           f"streams of one handle: {streams}")

    gaps = [array for kind, _, array in events if kind == "thread_gap"]
    known = [[int(word) for word in line.split(",")[1:]] for line in open(work + "/truth")]
    too_much = 0
    for after_ns, before_ns, cpu_ns, forced in known:
        found = [gap for gap in gaps if gap[1] <= after_ns and gap[2] >= before_ns]
        expect(len(found) == 1, f"gap from {after_ns} to {before_ns}: recorded {found}")
        for gap in found:
            too_much += gap[3] > cpu_ns
            expect(gap[4] >> 32 >= forced, f"the thread lost the processor {forced} times: {gap}")
    # The clocks of a thread and of the machine are read one after the other: now and then something comes between.
    expect(2 * too_much < len(known), f"{too_much} of {len(known)} pauses have more CPU time than they had")

    # On an idle device, when an operation began is as uncertain as its launch was long: here, while its code was loaded.
    events = record("events", "--gpu-timing=events", "--", build + "/examples/train_loop")
    launch, ended_ns = next((array, time) for kind, time, array in events if kind == "launch")
    errors = {fields["call"]: fields["error"] for kind, _, fields in events if kind == "gpu_op"}
    expect(errors[launch[1]] > (ended_ns - launch[0]) / 2, f"error of the first launch: {errors[launch[1]]} ns, it took {ended_ns - launch[0]} ns")
    print(f"{len(by_size)} calls, {len(known)} pauses compared")
sys.exit(1 if FAULTS else 0)
