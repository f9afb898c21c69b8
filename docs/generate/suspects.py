#!/usr/bin/env python3
"""Makes docs/suspects.md of analyzer/verdicts/verdicts.def and of docs/generate/signs.txt, which says how each suspect looks in a
timeline, one "id: text" a line:

    docs/generate/suspects.py ROOT > docs/suspects.md

A test fails when docs/suspects.md is not what this prints, or when a verdict has no sign."""
import pathlib
import re
import sys


def verdicts(text):
    """id, suspect, fix, explanation of every GW_VERDICT, whose strings C joins."""
    for part in re.split(r"^GW_VERDICT\(", text, flags=re.M)[1:]:
        arguments, pieces = [""], re.findall(r'"((?:[^"\\]|\\.)*)"|(,)|(\w+)', part[:part.rindex(")")])
        for string, comma, word in pieces:
            if comma:
                arguments.append("")
            else:
                arguments[-1] += string.replace('\\"', '"') or word
        identity, _, suspect, fix, explanation = arguments[:5]
        yield identity, suspect, fix, explanation


def main():
    root = pathlib.Path(sys.argv[1])
    lines = (root / "docs/generate/signs.txt").read_text(encoding="utf-8").splitlines()
    signs = dict(line.split(": ", 1) for line in lines if line)
    listed = list(verdicts((root / "analyzer/verdicts/verdicts.def").read_text(encoding="utf-8")))
    missing = [identity for identity, *_ in listed if identity not in signs]
    unknown = sorted(set(signs) - {identity for identity, *_ in listed})
    if missing or unknown:
        print(f"docs/generate/signs.txt: no sign for {missing}, unknown {unknown}", file=sys.stderr)
        return 1
    print("<!-- Made by docs/generate/suspects.py; do not edit. -->\n# The suspects, one by one\n")
    print("What each verdict is about, how it looks in `gpuwitness plot` (`timeline.png`, `overview.png`), and what mends it. How verdicts\n"
          "are reached is in [verdicts.md](verdicts.md); `gpuwitness report --explain ID` prints the same.\n")
    for identity, suspect, fix, explanation in listed:
        print(f"## {identity}: {suspect}\n\n{explanation}\n\n*In a timeline:* {signs[identity]}\n\n*What mends it:* {fix}\n")
    return 0


sys.exit(main())
