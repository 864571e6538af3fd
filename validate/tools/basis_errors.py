#!/usr/bin/env python3
"""Measures how far predicted times lie from measured ones by GPU and by where the GPU's rates come from.

usage: basis_errors.py TILESCOPE [--check [--quick]] [--rows FILE --published-rows FILE]

Writes validate/basis_errors.json, which `predict` and `compare` state for GPUs with derived rates. --check writes nothing and
exits with status 1 where a number differs by more than 1 % of itself. --quick leaves out the H200 and the A100 with derived rates, which
take most of the time; the H100's check the same rules.

Records of the H200 and the H100 are predicted from their measured rates, and by the rules of src/hardware/derived.h without any
rate that was measured on them (`validate --basis derived`): the H200's donor is then the H100, and the reverse. The H100 PCIe was never
measured; one published table has its times. Published tables of the A100, which has no donor with its chip, are predicted both
from what is published about it and by the rules alone.
--rows and --published-rows name JSON that `tilescope validate` has printed of all records and tables with stated rates.
"""
import argparse
import json
import math
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
STORED = ROOT / "validate" / "basis_errors.json"
# GPU, chip, basis, whose rates stand in for its own, rows of which file, and what they are.
CASES = [
    ("h200_sxm", "GH100", "measured", None, "recorded stated"),
    ("h200_sxm", "GH100", "derived", "the same chip", "recorded derived"),
    ("h100_sxm", "GH100", "measured", None, "recorded stated"),
    ("h100_sxm", "GH100", "derived", "the same chip", "recorded derived"),
    ("h100_pcie", "GH100", "derived", "the same chip", "published derived"),
    ("a100_sxm_80", "GA100", "mixed", "another chip", "published stated"),
    ("a100_sxm_80", "GA100", "derived", "another chip", "published derived"),
]
QUICK = ("h100_sxm", "h100_pcie")  # the GPUs whose derived rates --quick checks


def printed(program, *arguments):
    """The JSON that the program prints; a row out of its tolerance (status 1) is not this script's business."""
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        status = subprocess.run([program, "validate", "--quiet", *arguments, "--format", "json", "-o", file.name]).returncode
        if status not in (0, 1):
            sys.exit(f"basis_errors.py: {program} validate {' '.join(arguments)} failed with status {status}")
        return json.load(open(file.name))


def times(printed_json, hardware):
    """(predicted, measured) of the times of one GPU, of records or of published tables."""
    if "rows" in printed_json:
        return [(row["predicted"], row["measured"]) for row in printed_json["rows"]
                if row["hardware"] == hardware and row["quantity"] == "seconds"]
    return [(row["predicted"], row["measured"]) for table in printed_json["tables"] if table["hardware"] == hardware
            for row in table["rows"] if row["fits"]]


def spread(pairs):
    errors = sorted(abs(predicted / measured - 1) for predicted, measured in pairs)
    n = len(errors)
    median = errors[n // 2] if n % 2 else (errors[n // 2 - 1] + errors[n // 2]) / 2
    return {"n": n, "mape": sum(errors) / n, "median": median, "p90": errors[math.ceil(0.9 * n) - 1], "worst": errors[-1]}


def published(program, gpus, *arguments):
    """What the program prints of the published tables of these GPUs."""
    with tempfile.TemporaryDirectory() as folder:
        for path in (ROOT / "validate" / "published").iterdir():
            if path.suffix != ".yaml" or any(f"hardware: {gpu}\n" in path.read_text() for gpu in gpus):
                (pathlib.Path(folder) / path.name).symlink_to(path)
        return printed(program, "--published", folder, *arguments)


def measure(program, rows, published_rows, quick):
    cases = [case for case in CASES if not (quick and case[2] == "derived" and case[0] not in QUICK)]
    gpus = {case[0] for case in cases if case[4].startswith("published derived")}
    if not published_rows:
        gpus |= {case[0] for case in cases if case[4].startswith("published")}
    records = ["--recorded", str(ROOT / "validate" / "records" / "h100")] if quick else []
    sources = {
        "recorded stated": rows or printed(program),
        "recorded derived": printed(program, *records, "--basis", "derived"),
        "published stated": published_rows or published(program, gpus),
        "published derived": published(program, gpus, "--basis", "derived"),
    }
    out = []
    for hardware, chip, basis, rates_of, source in cases:
        error = spread(times(sources[source], hardware))
        what = "records" if source.startswith("recorded") else "published times"
        evidence = f"{error['n']} {what} of {hardware} with {basis} rates"
        out.append({"hardware": hardware, "chip": chip, "basis": basis, "rates_of": rates_of,
                    **{key: value if key == "n" else round(value, 6) for key, value in error.items()}, "evidence": evidence})
    return out


def same(before, now):
    return all(abs(a[key] - b[key]) <= 0.01 * a[key] if isinstance(a[key], float) else a[key] == b[key]
               for a, b in zip(before, now) for key in a) and len(before) == len(now)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--rows", type=lambda name: json.load(open(name)))
    parser.add_argument("--published-rows", type=lambda name: json.load(open(name)))
    given = parser.parse_args()
    rows = measure(given.program, given.rows, given.published_rows, given.check and given.quick)
    if given.check:
        stored = json.loads(STORED.read_text())["rows"]
        if given.quick:
            stored = [row for row in stored if any(row["evidence"] == now["evidence"] for now in rows)]
        if not same(stored, rows):
            sys.exit("validate/basis_errors.json is out of date: run validate/tools/basis_errors.py build/tilescope")
        print(f"{len(rows)} rows as in validate/basis_errors.json")
        return
    STORED.write_text(json.dumps({"schema": "tilescope/basis-errors/1", "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
