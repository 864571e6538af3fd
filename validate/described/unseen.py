#!/usr/bin/env python3
"""Errors of predictions for PyTorch's kernels at sizes that were drawn after the model was committed.

usage: unseen.py TILESCOPE

Prints a line a kernel: cycles in which SMs hold a block. Exit status 1 where a mean exceeds the bar.
"""
import json
import pathlib
import subprocess
import sys

MOST = 0.05  # of the mean over a kernel's points


def errors_of(program, file):
    """Relative errors of a file's points."""
    run = subprocess.run([program, "validate", "--import", file, "--format", "json", "-q"], capture_output=True, text=True)
    if not run.stdout.startswith("{"):
        sys.exit(run.stderr)
    return [row["ratio"] - 1 for row in json.loads(run.stdout)["rows"] if row["quantity"] == "busy_cycles"]


def main():
    files = sorted(pathlib.Path(__file__).resolve().parent.glob("*_unseen.yaml"))
    failed = not files
    for file in files:
        errors = errors_of(sys.argv[1], file)
        mean = sum(map(abs, errors)) / len(errors) if errors else float("nan")
        failed |= not mean <= MOST
        print(f"{file.stem.removesuffix('_unseen'):30} n {len(errors):2} mean {100 * mean:4.1f} % worst "
              f"{100 * max(errors, key=abs, default=0):+5.1f} %")
    sys.exit(failed)


if __name__ == "__main__":
    main()
