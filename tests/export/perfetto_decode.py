"""Decodes a Perfetto trace by the published field numbers (protos/perfetto/trace/ of Perfetto), independently of the
writer: yields tracks, interned names and slices. Only what the test looks at; unknown fields are an error."""
import struct

PACKET = {6: "clock_snapshot", 8: "timestamp", 10: "sequence", 11: "track_event", 12: "interned_data",
          13: "sequence_flags", 58: "clock", 60: "track_descriptor", 87: "first_packet"}
EVENT = {3: "categories", 4: "annotations", 9: "type", 10: "name_iid", 11: "track", 23: "name", 47: "flows",
         48: "ending_flows"}
TRACK = {1: "uuid", 2: "name", 3: "process", 4: "thread", 5: "parent"}
ANNOTATION = {1: "name_iid", 3: "uint", 4: "int", 5: "double", 6: "string", 17: "string_iid"}
# Numbers below 0 stand as 64-bit two's complement, doubles as their bits.
VALUES = {"int": lambda value, _: value - (value >> 63 << 64), "string_iid": lambda value, interned: interned["strings"][value],
          "double": lambda value, _: struct.unpack("<d", struct.pack("<Q", value))[0]}
INTERNED = {1: "categories", 2: "names", 3: "annotation_names", 29: "strings"}


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at += 1
        shift += 7
        if byte < 0x80:
            return value, at


def fields(data):
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        number, wire = key >> 3, key & 7
        if wire == 0:
            value, at = varint(data, at)
        elif wire == 1:
            value, at = struct.unpack_from("<Q", data, at)[0], at + 8
        elif wire == 2:
            length, at = varint(data, at)
            assert at + length <= len(data), "a field reaches beyond its message"
            value, at = data[at:at + length], at + length
        else:
            raise ValueError(f"wire type {wire}")
        yield number, value


def message(data, names):
    result = {}
    for number, value in fields(data):
        result.setdefault(names[number], []).append(value)
    return result


class Trace:
    """tracks: uuid -> {name, parent, process (pid), thread (tid)}; slices: (track, begin, end, name, category, flows,
    ending flows, arguments), in order of their end within a track."""

    def __init__(self, data):
        self.tracks, self.slices, self.clocks = {}, [], {}
        interned = {"categories": {}, "names": {}, "annotation_names": {}, "strings": {}}
        events = []
        for number, body in fields(data):
            assert number == 1, "Trace has packets only"
            packet = message(body, PACKET)
            assert packet["sequence"] == [1]
            assert packet["sequence_flags"][0] & 2
            for data_body in packet.get("interned_data", []):
                for kind, entries in message(data_body, INTERNED).items():
                    for entry in entries:
                        iid, text = (value for _, value in sorted(fields(entry)))
                        assert iid not in interned[kind], "an iid is given twice"
                        interned[kind][iid] = text.decode()
            for snapshot in packet.get("clock_snapshot", []):
                for kind, value in fields(snapshot):
                    if kind == 1:
                        clock = dict(fields(value))
                        self.clocks[clock[1]] = clock[2]
                    else:
                        self.primary_clock = value
            for body_of_track in packet.get("track_descriptor", []):
                track = message(body_of_track, TRACK)
                uuid = track["uuid"][0]
                assert uuid and uuid not in self.tracks
                self.tracks[uuid] = {
                    "name": track.get("name", [b""])[0].decode(), "parent": track.get("parent", [0])[0],
                    "process": dict(fields(track["process"][0])) if "process" in track else None,
                    "thread": dict(fields(track["thread"][0])) if "thread" in track else None}
            for body_of_event in packet.get("track_event", []):
                assert packet["clock"] == [3], "times are CLOCK_MONOTONIC"
                events.append((packet["timestamp"][0], message(body_of_event, EVENT)))
        self._stack_slices(events, interned)

    def _stack_slices(self, events, interned):
        stacks = {}
        for time, event in sorted(events, key=lambda e: e[0]):  # stable, as the viewer sorts
            track = event["track"][0]
            assert track in self.tracks, "an event on a track that is not described"
            if event["type"] == [2]:
                begin, name, category, flows, ending, arguments = stacks[track].pop()
                self.slices.append((track, begin, time, name, category, flows, ending, arguments))
                continue
            assert event["type"] == [1]
            name = event["name"][0].decode() if "name" in event else interned["names"][event["name_iid"][0]]
            arguments = {}
            for body in event.get("annotations", []):
                annotation = message(body, ANNOTATION)
                (kind, (value,)), = ((kind, value) for kind, value in annotation.items() if kind != "name_iid")
                arguments[interned["annotation_names"][annotation["name_iid"][0]]] = VALUES.get(kind, lambda v, _: v)(value, interned)
            stacks.setdefault(track, []).append(
                (time, name, interned["categories"][event["categories"][0]], event.get("flows", []),
                 event.get("ending_flows", []), arguments))
        assert not any(stacks.values()), "slices without an end"
