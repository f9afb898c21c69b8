#!/usr/bin/env python3
"""Checks the rule of CONTRIBUTING.md: a stage includes only headers of stages before it, a file has one idea
(at most 600 lines), and cairo.h is included by the canvas only."""
import pathlib
import re
import sys

ROOT = pathlib.Path(sys.argv[1])

# folder -> the folders whose headers it may include (its own is always allowed)
SHARED = ["shim/api"]
ALLOWED = {
    "shim": [],
    "analyzer/session": SHARED,
    "analyzer/read": SHARED + ["analyzer/session"],
    "analyzer/model": SHARED + ["analyzer/session", "analyzer/read"],
    "analyzer/verdicts": SHARED + ["analyzer/read", "analyzer/model"],
    "analyzer/export": SHARED + ["analyzer/read", "analyzer/model", "analyzer/verdicts"],
    "analyzer/diff": SHARED + ["analyzer/model", "analyzer/verdicts", "analyzer/export"],
    "plots": SHARED + ["analyzer/model", "analyzer/verdicts", "analyzer/export", "analyzer/diff"],
    "analyzer/cli": SHARED
    + ["analyzer/session", "analyzer/read", "analyzer/model", "analyzer/verdicts", "analyzer/export", "analyzer/diff", "plots"]
    + ["tests/simgpu"],  # only config_keys.def, the table of the simulated GPU's settings
}
GENERATED = {"shim/api/functions.def", "shim/api/signatures.h"}
LIMIT = 600


def stage_of(path):
    return max((s for s in ALLOWED if path == s or path.startswith(s + "/")), key=len, default=None)


def main():
    errors = []
    files = [p for top in ("shim", "analyzer", "plots", "tests", "examples") for p in (ROOT / top).rglob("*")
             if p.suffix in (".c", ".h", ".def", ".cu", ".inc", ".S", ".py")]
    for path in sorted(files):
        name = path.relative_to(ROOT).as_posix()
        text = path.read_text(encoding="utf-8")
        lines = text.count("\n")
        if lines > LIMIT and name not in GENERATED:
            errors.append(f"{name}: {lines} lines, more than {LIMIT}: two ideas?")
        stage = stage_of(name)
        if stage is None:
            continue
        for included in re.findall(r'^\s*#\s*include\s+"([^"]+)"', text, re.M):
            if (path.parent / included).exists():
                target = (path.parent / included).resolve().relative_to(ROOT.resolve()).as_posix()
            else:
                target = included
            other = stage_of(target) or str(pathlib.PurePosixPath(target).parent)
            if not (other == stage or any(other == a or target.startswith(a + "/") for a in ALLOWED[stage])):
                errors.append(f"{name}: includes {included}, which does not come before {stage}")
        if re.search(r"#\s*include\s+[<\"](cairo|pango)", text) and not name.startswith("plots/canvas"):
            errors.append(f"{name}: only plots/canvas* may include cairo or pango")
    for error in errors:
        print(error)
    print(f"{len(files)} files checked, {len(errors)} faults")
    return 1 if errors or not files else 0


sys.exit(main())
