#!/usr/bin/env python3
"""Lets libraries load under a glibc older than the one they were built with, where all they want of the newer one is
arc4random and arc4random_buf, which analyzer/cli/older_glibc.c has too:

    allow_older_glibc.py FILE...

The need of that version becomes one of a version that the library needs anyway (a second entry of it in .gnu.version_r,
https://refspecs.linuxfoundation.org/LSB_5.0.0/LSB-Core-generic/, "Symbol Versioning"). Other files and needs are left as they are."""
import struct
import sys

VERSION, PROVIDED = b"GLIBC_2.36", {b"arc4random", b"arc4random_buf"}
VERNEED, VERSYM, DYNSYM = 0x6FFFFFFE, 0x6FFFFFFF, 11


def text(data, at):
    return bytes(data[at:data.index(0, at)])


def sections(data):
    offset, = struct.unpack_from("<Q", data, 0x28)
    size, count, _ = struct.unpack_from("<HHH", data, 0x3A)
    for i in range(count):
        yield struct.unpack_from("<IIQQQQIIQQ", data, offset + i * size)  # name, type, flags, address, offset, size, link, …


def needs(data, table, headers):
    """Of the C library: (offset of the entry, its version's name, its index in the table of symbol versions)"""
    strings = headers[table[6]][4]
    at = table[4]
    for _ in range(table[7]):
        _, count, file, first, following = struct.unpack_from("<HHIII", data, at)
        entry = at + first
        for _ in range(count):
            _, _, index, name, after = struct.unpack_from("<IHHII", data, entry)
            if text(data, strings + file) == b"libc.so.6":
                yield entry, text(data, strings + name), index
            entry += after
        at += following


def symbols_of(data, headers, index):
    versions = next(h for h in headers if h[1] == VERSYM)
    symbols = next(h for h in headers if h[1] == DYNSYM)
    strings = headers[symbols[6]][4]
    for i in range(symbols[5] // 24):
        version, = struct.unpack_from("<H", data, versions[4] + 2 * i)
        if version & 0x7FFF == index:
            name, = struct.unpack_from("<I", data, symbols[4] + 24 * i)
            yield text(data, strings + name)


def allow(path):
    with open(path, "rb") as file:
        data = bytearray(file.read())
    if data[:6] != b"\x7fELF\x02\x01":
        return
    headers = list(sections(data))
    for table in (h for h in headers if h[1] == VERNEED):
        listed = list(needs(data, table, headers))
        other = next((entry for entry, name, _ in listed if name != VERSION), None)
        for entry, name, index in listed:
            if name == VERSION and other is not None and set(symbols_of(data, headers, index)) <= PROVIDED:
                data[entry:entry + 4] = data[other:other + 4]  # the hash of the name
                data[entry + 8:entry + 12] = data[other + 8:other + 12]  # the name
                with open(path, "wb") as file:
                    file.write(data)


for argument in sys.argv[1:]:
    allow(argument)
