#!/usr/bin/env python3
"""Checks JSON reports against docs/report.schema.json: check_schema.py SCHEMA COMMAND...; the command gets the name of
a scripted run as its last argument. Uses jsonschema where it is installed; exit status 77 (skipped) where it is not."""
import json
import subprocess
import sys

try:
    import jsonschema
except ImportError:
    print("python3-jsonschema is not installed; unit.report checks the form of the report in C")
    sys.exit(77)

schema = json.load(open(sys.argv[1], encoding="utf-8"))
validator = jsonschema.validators.validator_for(schema)
validator.check_schema(schema)
faults = 0
for run in ("faulty", "healthy", "stepless", "failing", "own-kernels", "empty"):
    report = json.loads(subprocess.run(sys.argv[2:] + [run], check=True, capture_output=True).stdout)
    for error in validator(schema).iter_errors(report):
        print(f"{run}: {'/'.join(map(str, error.absolute_path))}: {error.message}")
        faults += 1
    # The schema itself must be able to refuse.
    report["verdicts"][0].pop("why")
    if validator(schema).is_valid(report):
        print(f"{run}: a verdict without `why` is accepted")
        faults += 1
sys.exit(1 if faults else 0)
