#!/usr/bin/env python3
"""Reads the facts in validate/described/own_kernels.jsonl again, after a change of what `tilescope describe` finds in code.

    own_kernels.py TILESCOPE CAPTURE [--nvdisasm FILE]

CAPTURE: a capture of kernels/bench/kernel_launches.cpp, whose cubins have the kernels of all lines."""
import json
import pathlib
import subprocess
import sys

FILE = pathlib.Path(__file__).resolve().parents[2] / "validate/described/own_kernels.jsonl"


def facts_of(program, cubin, symbol, more):
    done = subprocess.run([program, "describe", cubin, "--name", symbol, "--format", "json", *more],
                          capture_output=True, text=True)
    return (json.loads(done.stdout), "") if done.stdout.startswith("{") else (None, done.stderr.strip())


def main(arguments):
    program, capture = arguments[0], pathlib.Path(arguments[1])
    more = arguments[2:]
    kernels = [line for line in map(json.loads, (capture / "capture.jsonl").read_text().splitlines())
               if line["line"] == "kernel"]
    module = {kernel["symbol"]: kernel["module"] for kernel in kernels}
    lines = []
    for text in FILE.read_text().splitlines():
        line = json.loads(text)
        if line["facts"] is not None:
            symbol = line["facts"]["kernel"]
            line["facts"], why = facts_of(program, capture / "cubins" / (module[symbol] + ".cubin"), symbol, more)
            if line["facts"] is None:
                line["missing"] = why
                print(symbol, why)
        lines.append(json.dumps(line, separators=(",", ":")))
    FILE.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
