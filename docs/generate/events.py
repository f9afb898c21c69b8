#!/usr/bin/env python3
"""Makes docs/events.md of shim/tracer/events.h, shim/api/codes.h and shim/api/functions.def:

    docs/generate/events.py ROOT > docs/events.md

A test fails when docs/events.md is not what this prints."""
import collections
import pathlib
import re
import sys

TYPES = {"uint64_t": "u64", "uint32_t": "u32", "int32_t": "i32"}
WRITTEN_BY = {"launch": "LAUNCH", "copy": "COPY", "memset": "MEMSET", "memory": "MEMORY", "order": "ORDER",
              "module": "MODULE", "graph": "GRAPH"}


def words(comment):
    return " ".join(re.sub(r"^\s*\*\s?", "", line).strip() for line in comment.splitlines()).strip()


def cell(text):
    return text.replace("|", "\\|")


def fields(text, common):
    found = re.findall(r"GW_CALL_FIELDS|lttng_ust_field_integer\((\w+), (\w+), \w+\)|lttng_ust_field_(string)\((\w+), \w+\)"
                       r"|GW_WORDS_FIELD\((\w+), (\d+)\)", text)
    for kind, name, string, text_name, words_name, count in found:
        if words_name:
            yield words_name, f"u64[{count}]"
        elif kind:
            yield name, TYPES[kind]
        elif string:
            yield text_name, "string"
        else:
            yield from common


def enums(text):
    for comment, name, body in re.findall(r"(?:/\*([^*]*)\*/\n)?enum (\w+) \{\n(.*?)\n\};", text, re.S):
        body = re.sub(r"=\s*\n\s*", "= ", body)
        yield name, words(comment), re.findall(r"(\w+) = (\d+),?\s*(?:/\* (.*?) \*/)?", body, re.S)


def main():
    root = pathlib.Path(sys.argv[1])
    events = (root / "shim/tracer/events.h").read_text(encoding="utf-8")
    codes = (root / "shim/api/codes.h").read_text(encoding="utf-8")
    functions = re.findall(r"^GW_FN\((\w+), (\w+), .*, (\w+), (\w+)\)$", (root / "shim/api/functions.def").read_text(), re.M)
    head = events[events.index("/*") + 2:events.index("*/")]
    common = list(fields(events[events.index("#define GW_CALL_FIELDS"):events.index("/* A call without")]
                         .replace("GW_CALL_FIELDS", ""), []))
    print("<!-- Made by docs/generate/events.py; do not edit. -->\n# The events of a trace\n")
    print("What `RUN/trace` holds, for those who read it with Babeltrace or Trace Compass rather than with `gpuwitness`. The\n"
          "provider is `gpuwitness`, so an event's full name is `gpuwitness:call`. Values are part of the format: new ones are\n"
          "only appended.\n")
    print("```\n" + "\n".join(re.sub(r"^ \* ?", "", line) for line in head.strip("\n").splitlines()) + "\n```\n")
    counts = collections.Counter(api for api, *_ in functions)
    print(f"{counts['DRV']} functions of the driver, {counts['RT']} of the runtime and {counts['NCCL']} of NCCL are wrapped, all "
          "versions and stream modes\ncounted. `RUN/functions.txt` names them by the numbers in `site`.\n")
    for comment, name, body in re.findall(
            r"/\*((?:(?!\*/).)*)\*/\s*LTTNG_UST_TRACEPOINT_EVENT\(\s*gpuwitness, (\w+),(.*?LTTNG_UST_TP_FIELDS\(.*?)\n\n", events,
            re.S):
        print(f"## {name}\n\n{words(comment)}\n")
        listed = list(fields(body[body.index("LTTNG_UST_TP_FIELDS"):], common))
        print("Fields: " + ", ".join(f"`{field}` {kind}" for field, kind in listed) + ".")
        if name in WRITTEN_BY:
            by = [symbol for _, symbol, kind, _ in functions if kind == WRITTEN_BY[name]]
            print(f"\nWritten by {len(by)} functions, such as `{by[0]}` and `{by[-1]}`.")
        print()
    print("# Codes\n")
    for name, comment, values in enums(codes):
        print(f"## {name}\n")
        if comment:
            print(comment + "\n")
        print("| value | name | |\n|---|---|---|")
        print("\n".join(f"| {value} | {constant} | {cell(words(remark))} |" for constant, value, remark in values) + "\n")
    return 0


sys.exit(main())
