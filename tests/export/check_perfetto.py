#!/usr/bin/env python3
"""The Perfetto export is read by the published schema itself, which PyPI's package perfetto carries:

    check_perfetto.py GPUWITNESS EXAMPLES-DIRECTORY

No field may be unknown to it, and the slices are those of the CSV tables. Exits 77 (skipped) where the package is not
installed. (Its trace processor is downloaded at the first use, so it is not asked.)"""
import csv
import pathlib
import subprocess
import sys
import tempfile

try:
    from google.protobuf import unknown_fields
    from perfetto.protos.perfetto.trace import perfetto_trace_pb2
except ImportError:
    print("SKIP: the package perfetto is not installed for this Python")
    sys.exit(77)


def unknown_in(message):
    found = len(unknown_fields.UnknownFieldSet(message))
    for descriptor, value in message.ListFields():
        if descriptor.message_type:
            for part in value if hasattr(value, "__len__") and not hasattr(value, "ListFields") else [value]:
                found += unknown_in(part)
    return found


def main():
    gpuwitness, examples = sys.argv[1], pathlib.Path(sys.argv[2])
    with tempfile.TemporaryDirectory(prefix="gw-perfetto-") as name:
        folder = pathlib.Path(name)
        run = folder / "run"
        for words in (["record", "-q", "--simgpu", "-o", run, "--", examples / "train_loop"],
                      ["export", "--format", "csv", "-o", folder / "csv", run],
                      ["export", "--format", "perfetto", "-o", folder / "trace", run]):
            subprocess.run([gpuwitness, *words], check=True, stdout=subprocess.DEVNULL)
        trace = perfetto_trace_pb2.Trace()
        trace.ParseFromString((folder / "trace").read_bytes())
        rows = {}
        for table in ("calls", "ops", "steps", "gaps"):
            with open(folder / "csv" / f"{table}.csv", newline="", encoding="utf-8") as file:
                rows[table] = len(list(csv.DictReader(file)))
        events = [packet.track_event for packet in trace.packet if packet.HasField("track_event")]
        kinds = {kind: sum(event.type == kind for event in events)
                 for kind in (events[0].TYPE_SLICE_BEGIN, events[0].TYPE_SLICE_END)}
        faults = [f"{kind}: {count} slices instead of {sum(rows.values())}" for kind, count in kinds.items()
                  if count != sum(rows.values())]
        unknown = unknown_in(trace)
        faults += [f"{unknown} fields are not in the schema"] if unknown else []
        names = {packet.track_descriptor.process.process_name for packet in trace.packet
                 if packet.HasField("track_descriptor") and packet.track_descriptor.HasField("process")}
        faults += [] if len(names) == 1 and "train_loop" in names.pop() else ["the process has no name"]
        print("\n".join(faults) or f"{len(trace.packet)} packets, {sum(rows.values())} slices")
    return 1 if faults else 0


sys.exit(main())
