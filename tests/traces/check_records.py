#!/usr/bin/env python3
"""check_records.py PRINT_RECORDS TRACE: what the reader finds in packets is what babeltrace2 finds, in a recorded trace and in one
made here with every form of header and field; and what a damaged packet costs."""
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import unittest

PRINT_RECORDS, TRACE = sys.argv[1:3]
UUID = bytes(range(16))

TYPES = """/* CTF 1.8 */
typealias integer { size = 8; align = 8; signed = false; } := uint8_t;
typealias integer { size = 16; align = 8; signed = false; } := uint16_t;
typealias integer { size = 32; align = 8; signed = false; } := uint32_t;
typealias integer { size = 64; align = 8; signed = false; } := uint64_t;
typealias integer { size = 5; align = 1; signed = false; } := uint5_t;
trace {
	major = 1;
	minor = 8;
	uuid = "00010203-0405-0607-0809-0a0b0c0d0e0f";
	byte_order = le;
	packet.header := struct { uint32_t magic; uint8_t uuid[16]; uint32_t stream_id; uint64_t stream_instance_id; };
};
clock { name = "monotonic"; freq = 1000000000; offset = 17; };
typealias integer { size = 27; align = 1; signed = false; map = clock.monotonic.value; } := time27;
typealias integer { size = 32; align = 8; signed = false; map = clock.monotonic.value; } := time32;
typealias integer { size = 64; align = 8; signed = false; map = clock.monotonic.value; } := gw_time;
struct packet_context { gw_time timestamp_begin; gw_time timestamp_end; uint64_t content_size; uint64_t packet_size;
	uint64_t packet_seq_num; uint64_t events_discarded; uint32_t cpu_id; };
struct event_header_compact {
	enum : uint5_t { compact = 0 ... 30, extended = 31 } id;
	variant <id> { struct { time27 timestamp; } compact; struct { uint32_t id; gw_time timestamp; } extended; } v;
} align(8);
struct event_header_large {
	enum : uint16_t { compact = 0 ... 65534, extended = 65535 } id;
	variant <id> { struct { time32 timestamp; } compact; struct { uint32_t id; gw_time timestamp; } extended; } v;
} align(8);
"""
HEADERS = ("struct event_header_compact;", "struct event_header_large;",
           "struct {\n\t\tuint8_t id;\n\t\tgw_time timestamp;\n\t};")
EVENTS = """event {
	name = "gpuwitness:call";
	id = 0;
	stream_id = %(stream)d;
	fields := struct { integer { size = 64; align = 8; signed = false; } _begin_call_site_result[4]; };
};
event {
	name = "other:event";
	id = 1;
	stream_id = %(stream)d;
	fields := struct { floating_point { exp_dig = 11; mant_dig = 53; byte_order = le; align = 8; } _real; string _text;
		uint8_t __values_length; uint16_t _values[ __values_length ]; };
};
event {
	name = "gpuwitness:thread";
	id = 2;
	stream_id = %(stream)d;
	fields := struct { uint8_t _more[3]; string _name; integer { size = 32; align = 8; signed = true; } _tid; uint16_t _pid; };
};
"""


def metadata():
    text = TYPES
    for stream, header in enumerate(HEADERS):
        text += f"stream {{\n\tid = {stream};\n\tevent.header := {header}\n\tpacket.context := struct packet_context;\n}};\n"
        text += EVENTS % {"stream": stream}
    return text


def event_header(stream, number, time_ns, extended):
    if stream == 0:
        return struct.pack("<BIQ", 31, number, time_ns) if extended else struct.pack("<I", number | time_ns % 2**27 << 5)
    if stream == 1:
        return struct.pack("<HIQ", 65535, number, time_ns) if extended else struct.pack("<HI", number, time_ns % 2**32)
    return struct.pack("<BQ", number, time_ns)


def call(value):
    return 0, struct.pack("<4Q", value, value + 2**40, 7, 2**64 - 3)


def other(values):
    return 1, struct.pack("<d", 0.5) + b"unknown\0" + struct.pack(f"<B{len(values)}H", len(values), *values)


def thread(name):
    return 2, b"\1\2\3" + name + b"\0" + struct.pack("<iH", -5, 65535)


def packet(stream, number, begin_ns, events, end_ns=None, discarded=0):
    """events: (time, extended, (number, payload))"""
    content = b"".join(event_header(stream, event[0], time, extended) + event[1] for time, extended, event in events)
    end_ns = events[-1][0] if end_ns is None else end_ns
    bits = (84 + len(content)) * 8
    return struct.pack("<I16sIQQQQQQQI", 0xC1FC1FC1, UUID, stream, 5, begin_ns, end_ns, bits, bits + 16 * 8, number, discarded,
                       3) + content + b"\xaa" * 16


def events_of(stream, begin_ns):
    """All kinds of events; between them, times that wrap and gaps that only a whole time can tell."""
    gap = 2**27 if stream == 0 else 2**32
    yield begin_ns, False, call(begin_ns)
    yield begin_ns + gap // 2, False, thread(b"")
    yield begin_ns + gap + 1, False, other([])
    yield begin_ns + 3 * gap, True, thread("größer".encode())
    yield begin_ns + 3 * gap, False, other([1, 2, 3])
    yield begin_ns + 4 * gap - 1, False, thread(b"x" * 40000)
    yield begin_ns + 4 * gap, False, call(begin_ns + gap)


def ours(trace):
    done = subprocess.run([PRINT_RECORDS, trace], capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    return [line for line in lines if line[0].isdigit()], [line for line in lines if not line[0].isdigit()]


def value_of(name, text):
    if text.startswith('"'):
        raw = re.sub(r"\\(.)", lambda match: {"n": "\n", "t": "\t", '"': '"', "\\": "\\"}[match[1]], text[1:-1])
        return f'{name}="{raw.encode().hex()}"'
    value = int(text) % 2**64
    return f"{name}={(value + 2**31) % 2**32 - 2**31 if name == 'result' else value}"


def babeltrace(trace, wanted):
    """Babeltrace's events in the form of ours; of each event the fields that ours tell, which must all be there."""
    done = subprocess.run(["babeltrace2", "--clock-cycles", "--no-delta", "--fields=", trace], capture_output=True, text=True,
                          check=True)
    found = []
    for line in done.stdout.splitlines():
        head = re.match(r"\[0*(\d+)\] (?:\S+ )?gpuwitness:(\w+): \{ cpu_id = \d+ \}, \{ (.*) \}$", line)
        if not head:
            continue
        fields = {}
        for name, array, text in re.findall(r'(\w+) = (?:\[ (.*?) \](?=,|$)|("(?:[^"\\]|\\.)*"|-?\d+))', head[3]):
            if array:
                fields.update(zip(name.split("_"), re.findall(r"\[\d+\] = (-?\d+)", array)))
            else:
                fields[name] = text
        names = wanted[head[2]]
        found.append(" ".join([head[1], head[2]] + [value_of(name, fields[name]) for name in names]))
    return found


def names_of(lines):
    return {line.split()[1]: [field.split("=")[0] for field in line.split()[2:]] for line in lines}


class Records(unittest.TestCase):
    def setUp(self):
        self.trace = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        (self.trace / "metadata").write_text(metadata())

    def write(self, stream, *packets):
        (self.trace / f"stream_{stream}").write_bytes(b"".join(packets))

    def test_recorded(self):
        lines, rest = ours(TRACE)
        self.assertGreater(len(lines), 10)
        self.assertEqual(sorted(lines), sorted(babeltrace(TRACE, names_of(lines))))
        self.assertEqual(rest, ["skipped 0"])

    def test_every_form(self):
        for stream in range(3):
            begins = (2**35 - 9, 2**40)
            self.write(stream, *(packet(stream, i, begin, list(events_of(stream, begin))) for i, begin in enumerate(begins)))
        lines, rest = ours(self.trace)
        self.assertEqual(len(lines), 3 * 2 * 5)
        self.assertEqual(sorted(lines), sorted(babeltrace(self.trace, names_of(lines))))
        self.assertEqual(rest, [f"skipped {3 * 2 * 2}"])

    def test_losses(self):
        """Between packets, as their counters tell; before the first one, in its time."""
        first, second = [(100, False, call(1))], [(200, False, call(2))]
        self.write(1, packet(1, 0, 50, first, discarded=3), packet(1, 1, 150, second, discarded=3),
                   packet(1, 2, 250, [(300, False, call(3))], discarded=8), packet(1, 5, 350, [(400, False, call(4))], discarded=8))
        self.assertEqual(ours(self.trace)[1], ["lost 50 100 0", "lost 200 300 5", "lost 300 350 0", "skipped 0"])

    def test_recorder_killed(self):
        """It had not written when the packets end; nothing of them is lost."""
        found = []
        for end_ns in (None, 0):
            for stream in range(3):
                self.write(stream, *(packet(stream, i, begin, list(events_of(stream, begin)), end_ns=end_ns)
                                     for i, begin in enumerate((2**35 - 9, 2**40))))
            found.append(ours(self.trace))
        self.assertEqual(found[0], found[1])

    def damaged(self, events, **more):
        """A packet of three events whose second one is damaged, and one after it."""
        for stream in range(3):
            whole = packet(stream, 1, 1000, [(1001, False, call(9))])
            self.write(stream, packet(stream, 0, 100, events(stream), **more), whole)
            lines, rest = ours(self.trace)
            self.assertEqual([line.split()[0] for line in lines], ["110", "1001"])
            self.assertEqual(rest, ["lost 110 900 0", "skipped 0"])
            (self.trace / f"stream_{stream}").unlink()

    def test_event_of_no_class(self):
        self.damaged(lambda stream: [(110, False, call(1)), (120, False, (9, b"")), (130, False, call(2))], end_ns=900)

    def test_time_outside_of_the_packet(self):
        for time in (901, 99):
            self.damaged(lambda stream: [(110, False, call(1)), (time, stream < 2, call(2)), (130, False, call(3))], end_ns=900)

    def test_event_longer_than_the_packet(self):
        for event in ((2, b"\1\2\3no end"), (1, b"\0" * 9 + b"\xff\1"), (0, b"\0" * 31)):
            self.damaged(lambda stream: [(110, False, call(1)), (120, False, event)], end_ns=900)

    def test_impossible_numbers(self):
        """A call that began after it ended, and one of a process whose number no kernel gives: lost, but the packet goes on."""
        wrong = [(0, struct.pack("<4Q", 130, 2**40, 7, 0)), (0, struct.pack("<4Q", 100, 2**40, 2**63, 0))]
        for stream in range(3):
            self.write(stream, packet(stream, 0, 100, [(110, False, call(1)), (120, False, wrong[0]), (130, False, wrong[1]),
                                                       (140, False, call(2))]))
            lines, rest = ours(self.trace)
            self.assertEqual([line.split()[0] for line in lines], ["110", "140"])
            self.assertEqual(rest, ["lost 110 130 0", "skipped 0"])
            (self.trace / f"stream_{stream}").unlink()

    def test_stream_of_no_class(self):
        self.write(0, packet(0, 0, 100, [(110, False, call(1))]))
        (self.trace / "stream_9").write_bytes(packet(9, 0, 500, [(510, False, call(1))]))
        lines, rest = ours(self.trace)
        self.assertEqual([line.split()[0] for line in lines], ["110"])
        self.assertEqual(rest, [f"lost 500 {2**64 - 1} 0", "skipped 0"])

    def test_other_machines(self):
        for before, after in (("byte_order = le", "byte_order = be"), ("size = 64; align = 8", "size = 64; align = 64")):
            self.write(1, packet(1, 0, 100, [(110, False, call(1))]))
            (self.trace / "metadata").write_text(metadata().replace(before, after))
            done = subprocess.run([PRINT_RECORDS, self.trace], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 1)
            self.assertIn("another kind of machine", done.stderr)

    def test_ctf2(self):
        self.write(1, packet(1, 0, 100, [(110, False, call(1))]))
        (self.trace / "metadata").write_text('\x1e{"type": "preamble", "version": 2}\n')
        done = subprocess.run([PRINT_RECORDS, self.trace], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("is in CTF 2", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
