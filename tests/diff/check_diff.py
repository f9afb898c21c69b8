#!/usr/bin/env python3
"""Records a faulty and a mended example on the simulated GPU and compares them in all forms:

    check_diff.py GPUWITNESS EXAMPLES-DIRECTORY SCHEMA

What must hold whatever the machine does: classes sum to the step, a run compared with itself differs in nothing, the
planted verdict vanishes, exit statuses. Times themselves are not asserted."""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

try:
    import jsonschema
except ImportError:
    jsonschema = None

FAULTS = []


def expect(holds, what):
    if not holds:
        print("FAULT:", what)
        FAULTS.append(what)


def main():
    gpuwitness, examples, schema_path = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3]
    run = lambda *words: subprocess.run([gpuwitness, *words], capture_output=True, text=True, check=False)
    with tempfile.TemporaryDirectory(prefix="gw-diff-") as name:
        folder = pathlib.Path(name)
        for target, words in (("faulty", []), ("mended", ["--pinned", "--no-sync"])):
            recorded = run("record", "-q", "--simgpu", "-o", folder / target, "--", examples / "train_loop", *words)
            expect(recorded.returncode == 0, recorded.stderr)
        faulty, mended = folder / "faulty", folder / "mended"
        run("export", "--format", "chrome", "-o", folder / "faulty.json", faulty)

        diff = json.loads(run("diff", "--json", faulty, mended).stdout)
        if jsonschema:
            validator = jsonschema.Draft202012Validator(json.loads(pathlib.Path(schema_path).read_text()))
            for error in validator.iter_errors(diff):
                expect(False, f"schema: {error.json_path}: {error.message}")
            diff["step"].pop("error_ms")
            expect(not validator.is_valid(diff), "the schema takes a step without error_ms")
        for key in ("a_ms", "b_ms", "change_ms"):
            total = sum(c[key] for c in diff["classes"].values())
            expect(abs(total - diff["step"][key]) < 1e-9, f"the classes' {key} sum to {total}, not {diff['step'][key]}")
        verdicts = {v["id"]: v for v in diff["verdicts"]}
        for planted in ("host-sync", "pageable-copy"):
            expect(verdicts[planted]["change"] == "vanishes" and verdicts[planted]["a_saving_ms"] > 0, planted)
        run("record", "-q", "--simgpu", "--gpu-timing=off", "-o", folder / "untimed", "--", examples / "train_loop")
        untimed = json.loads(run("diff", "--json", folder / "untimed", faulty).stdout)
        verdicts = {v["id"]: v for v in untimed["verdicts"]}
        expect((verdicts["host-sync"]["a"], verdicts["host-sync"]["change"]) == ("unknown", "unknown"),
               f"what one run does not tell is said to appear: {verdicts['host-sync']}")
        expect("host-sync" not in untimed["answer"], f"what one run does not tell is to blame: {untimed['answer']}")
        roles = {r["role"]: r for r in diff["roles"]}
        expect(abs(roles["optimizer"]["a"]["count"] - 1) < 0.05 and roles["optimizer"]["a"]["names"] ==
               ["optimizer_spin_ns"], f"optimizer kernels: {roles['optimizer']}")
        expect(abs(sum(r["a"]["share_percent"] for r in diff["roles"]) - 100) < 1e-6, "shares of the roles")

        same = json.loads(run("diff", "--json", faulty, faulty).stdout)
        expect(same["step"]["change_ms"] == 0 and same["step"]["within_noise"] and "same time" in same["answer"],
               f"a run compared with itself: {same['answer']}")
        imported = json.loads(run("diff", "--json", faulty, folder / "faulty.json").stdout)
        expect(abs(imported["step"]["change_ms"]) < 1e-6, f"an exported run against itself: {imported['step']}")

        per = json.loads(run("diff", "--json", "--per", "token=10,20", faulty, faulty).stdout)
        expect(per["unit"] == "token" and abs(per["step"]["a_ms"] - 2 * per["step"]["b_ms"]) < 1e-9 and
               "a token" in per["answer"], f"--per: {per['step']}")

        text, markdown = run("diff", faulty, mended), run("diff", "--md", faulty, mended)
        expect(text.returncode == 0 and re.match(r"B (takes|and A)", text.stdout), "text does not begin with the answer")
        expect("host-sync" in text.stdout and "vanishes" in text.stdout, "text without the verdicts")
        tables = [line for line in markdown.stdout.splitlines() if line.startswith("|")]
        expect("| step |" in markdown.stdout and all(line.endswith("|") for line in tables), "Markdown tables")

        expect(run("diff", "--fail-on", "idle_host>10000", mended, faulty).returncode == 0, "--fail-on that is not met")
        slower = json.loads(run("diff", "--json", mended, faulty).stdout)
        wanted = 3 if slower["classes"]["idle_host"]["change_ms"] > 0.001 and not slower["classes"]["idle_host"][
            "within_noise"] else 0
        expect(run("diff", "--fail-on", "idle_host>0.001", mended, faulty).returncode == wanted == 3, "--fail-on")
        expect(run("diff", "--fail-on", "idle_host>1us", "--fail-on", "idle_host>10s", mended, faulty).returncode == 3,
               "each --fail-on counts, not the last only")
        expect(run("diff", "--fail-on", "step>0%", faulty, faulty).returncode == 0, "--fail-on of a run with itself")
        for words, part in ((["--fail-on", "idle_hots>1", "a", "b"], "idle_host"), (["a"], "two runs"),
                            (["--per", "0", "a", "b"], "--per"), (["--json", "--md", "a", "b"], "exclude"),
                            (["a", "b", "c"], "two runs")):
            result = run("diff", *words)
            expect(result.returncode == 2 and part in result.stderr and result.stderr.count("\n") == 1,
                   f"{words}: {result.returncode} {result.stderr!r}")
        missing = run("diff", faulty, folder / "none")
        expect(missing.returncode == 1 and missing.stderr.count("\n") == 1, f"a missing run: {missing.stderr!r}")
        with open("/dev/full", "w", encoding="utf-8") as full:
            failed = subprocess.run([gpuwitness, "diff", faulty, mended], stdout=full, stderr=subprocess.PIPE, text=True,
                                    check=False)
        expect(failed.returncode == 1 and "No space left" in failed.stderr, f"a full disk: {failed.stderr!r}")
        print(diff["answer"])
    return 1 if FAULTS else 0


sys.exit(main())
