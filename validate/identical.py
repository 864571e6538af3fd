#!/usr/bin/env python3
"""Shows that a change of the code changed no prediction. Compares every row of `tilescope validate`, recorded and
published, with validate/predictions.sha256, exactly.

    identical.py TILESCOPE              exit status 1 and the names of the kernels whose rows differ
    identical.py --rows FILE --published-rows FILE     compare rows that `validate --format json` has printed
    identical.py TILESCOPE --update     rewrite the file after an intended change (CHANGELOG says which)

The file has one SHA-256 per kernel over the sorted rows, so it stays small. A row is its point, quantity, level,
direction, predicted and measured value.
"""
import argparse
import collections
import hashlib
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
STORED = ROOT / "validate" / "predictions.sha256"


def printed(program, *arguments):
    """The JSON that the program prints; a row out of its tolerance (status 1) is not this script's business."""
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        status = subprocess.run([program, "validate", *arguments, "--format", "json", "-o", file.name]).returncode
        if status not in (0, 1):
            sys.exit(f"identical.py: {program} validate {' '.join(arguments)} failed with status {status}")
        return json.load(open(file.name))


def hashes(recorded, published):
    rows = collections.defaultdict(list)
    for row in recorded["rows"]:
        rows[row["kernel"]].append([row[k] for k in ("point", "quantity", "level", "direction", "predicted", "measured")])
    for table in published["tables"]:
        rows["published:" + table["name"]] += [[row[k] for k in ("point", "predicted", "roofline", "measured")]
                                               for row in table["rows"]]
    if sum(map(len, rows.values())) < 20000:
        sys.exit("identical.py: fewer than 20,000 rows: records are missing, so nothing is shown")
    return {name: (hashlib.sha256("\n".join(sorted(json.dumps(row) for row in of)).encode()).hexdigest(), len(of))
            for name, of in rows.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", nargs="?")
    parser.add_argument("--rows")
    parser.add_argument("--published-rows")
    parser.add_argument("--update", action="store_true")
    arguments = parser.parse_args()
    if arguments.program:
        now = hashes(printed(arguments.program), printed(arguments.program, "--published", str(ROOT / "validate" / "published")))
    elif arguments.rows and arguments.published_rows:
        now = hashes(*(json.loads(pathlib.Path(name).read_text()) for name in (arguments.rows, arguments.published_rows)))
    else:
        parser.error("give the program, or --rows and --published-rows")
    if arguments.update:
        STORED.write_text("".join(f"{digest} {count} {name}\n" for name, (digest, count) in sorted(now.items())))
        return
    before = {name: (digest, int(count)) for digest, count, name in (line.split(" ", 2) for line in STORED.read_text().splitlines())}
    differing = sorted(name for name in before.keys() | now.keys() if before.get(name) != now.get(name))
    if differing:
        sys.exit(f"identical.py: predictions or records differ: {', '.join(differing)}")
    print(f"{sum(count for _, count in now.values())} rows of {len(now)} kernels and tables are identical")


if __name__ == "__main__":
    main()
