#!/usr/bin/env python3
"""Reads the facts in validate/described/own_kernels.jsonl again, after a change of what `tilescope describe` finds in code.

    own_kernels.py TILESCOPE CAPTURE [--nvdisasm FILE]

CAPTURE: a capture of kernels/bench/kernel_launches.cpp, whose cubins have the kernels of all lines. Of kernels whose blocks
loop over tiles, the facts have what the line's launch read (`evidence`)."""
import json
import pathlib
import subprocess
import sys
import tempfile

FILE = pathlib.Path(__file__).resolve().parents[2] / "validate/described/own_kernels.jsonl"


def facts_of(program, place, symbol, more):
    done = subprocess.run([program, "describe", place, "--name", symbol, "--format", "json", *more],
                          capture_output=True, text=True)
    return (json.loads(done.stdout), "") if done.stdout.startswith("{") else (None, done.stderr.strip())


def launch_of(captured, symbol, line):
    """A captured launch of this kernel without a mask: of the line's grid and sizes, else the first, whose sizes the line gets."""
    kernels = [text for text in captured if text["line"] == "kernel"]
    first = None
    for launch in captured:
        if launch["line"] != "launch" or kernels[launch["kernel"]]["symbol"] != symbol:
            continue
        stated = dict(word.split("=", 1) for word in launch["ranges"][0].split(" ") if "=" in word)
        if stated["mask"] != "none":
            continue
        sizes = {key: int(stated.get(key, size)) for key, size in line["sizes"].items()}
        if launch["grid"] == line["grid"] and sizes == line["sizes"]:
            return launch
        first = first or (launch, sizes)
    if first:
        line["grid"], line["dynamic_smem"], line["sizes"] = first[0]["grid"], first[0]["dynamic_shared_bytes"], first[1]
    return first[0] if first else None


def facts_of_launch(program, capture, captured, launch, symbol, more):
    """Facts with what the launch read, without results and the numbers that the code compares."""
    with tempfile.TemporaryDirectory() as place:
        (pathlib.Path(place) / "cubins").symlink_to((capture / "cubins").resolve())
        kept = [text for text in captured if text["line"] != "launch"] + [launch]
        (pathlib.Path(place) / "capture.jsonl").write_text("".join(json.dumps(text) + "\n" for text in kept))
        facts, why = facts_of(program, place, symbol, more)
    if facts and "evidence" in facts:
        facts["evidence"]["numbers"] = []
        for i, block in enumerate(facts["evidence"]["blocks"]):
            visits = [block[at:at + 5] for at in range(4, len(block), 5)]
            facts["evidence"]["blocks"][i] = block[:4] + [number for visit in visits if not visit[1] for number in visit]
    return facts, why


def main(arguments):
    program, capture = arguments[0], pathlib.Path(arguments[1])
    more = arguments[2:]
    captured = [json.loads(line) for line in (capture / "capture.jsonl").read_text().splitlines()]
    module = {line["symbol"]: line["module"] for line in captured if line["line"] == "kernel"}
    lines = []
    for text in FILE.read_text().splitlines():
        line = json.loads(text)
        if line["facts"] is not None:
            symbol = line["facts"]["kernel"]
            launch = launch_of(captured, symbol, line) if line["facts"]["persistent"] else None
            if launch:
                line["facts"], why = facts_of_launch(program, capture, captured, launch, symbol, more)
            else:
                line["facts"], why = facts_of(program, capture / "cubins" / (module[symbol] + ".cubin"), symbol, more)
            if line["facts"] is None:
                line["missing"] = why
                print(symbol, why)
        lines.append(json.dumps(line, separators=(",", ":")))
    FILE.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
