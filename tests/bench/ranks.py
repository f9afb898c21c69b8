#!/usr/bin/env python3
"""How the report of many ranks grows with their number: CPU time and memory a rank.

    ranks.py BUILD CONFIG [RANKS…]

One rank of a small data-parallel loop is recorded on the simulated GPU and multiplied; the report is made of 256, 1024
and 4096 of them. Fails only when a run fails."""
import os
import pathlib
import subprocess
import sys
import tempfile
import time


def measured(command):
    """CPU seconds, seconds and peak memory of a process."""
    begin = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"{command[0]} failed")
    return usage.ru_utime + usage.ru_stime, time.monotonic() - begin, usage.ru_maxrss * 1024


def main():
    build, config = pathlib.Path(sys.argv[1]), sys.argv[2]
    counts = [int(word) for word in sys.argv[3:]] or [256, 1024, 4096]
    tool = build / "bin/gpuwitness"
    with tempfile.TemporaryDirectory(prefix="gw-bench-ranks-") as name:
        folder = pathlib.Path(name)
        subprocess.run([tool, "record", "-q", f"--simgpu={config}", "-o", folder / "run", "--", build / "examples/ddp_loop",
                        "--ranks", "1", "--steps", "12"], check=True, stdout=subprocess.DEVNULL)
        subprocess.run([tool, "reduce", "-o", folder / "one", folder / "run"], check=True, stderr=subprocess.DEVNULL)
        size = (folder / "one").stat().st_size
        print(f"a rank: {size} bytes")
        for count in counts:
            ranks = folder / str(count)
            ranks.mkdir()
            subprocess.run([build / "bin/gw-bench-many-ranks", folder / "one", str(count), ranks], check=True)
            cpu, seconds, memory = measured([tool, "report", "--json", ranks])
            print(f"{count} ranks: {1e3 * cpu / count:.2f} ms of CPU time and {memory / count / 1e3:.0f} kB a rank "
                  f"({seconds:.1f} s and {memory / 1e6:.0f} MB in all)", flush=True)


main()
