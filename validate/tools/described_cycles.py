#!/usr/bin/env python3
"""SM cycles of captured attention kernels that `tilescope describe` reads, predicted beside those that Nsight Compute counted.

    described_cycles.py TILESCOPE CAPTURE NCU.csv [--hardware ID] [--units SMS] [--names REGEX]

CAPTURE: of a program whose launches stand in NVTX ranges that state their sizes as JSON, as validate/described/pytorch_launches.py
does; needs nvdisasm where describe finds it. NCU.csv: the same program under

    ncu --csv --kernel-name-base mangled --print-kernel-base mangled --cache-control all --metrics sm__cycles_active.sum -k regex:REGEX

Prints a line a forward launch without missing values: error by the machine code on a simulated SM, and by a synthesised program
(twice the same where describe writes no code); then the mean and the worst of each group of kernels. Exit status 2 where the launches of
both are not the same, or none could be compared. Needs the Python module yaml."""
import argparse
import csv
import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from compare_described import described_text  # noqa: E402

NAMES = "flash|fmha|fwd|attention"
PROGRAM = re.compile(r"^  program: \|\n(?:    .*\n)*", re.MULTILINE)


def counted(file):
    """(kernel, active cycles of all SMs) of each launch."""
    lines = [line for line in file.read_text().splitlines() if line.startswith('"')]
    return [(row["Kernel Name"], float(row["Metric Value"].replace(",", ""))) for row in csv.DictReader(lines)
            if row["Metric Name"] == "sm__cycles_active.sum"]


def launches_of(capture, names):
    lines = [json.loads(text) for text in (capture / "capture.jsonl").read_text().splitlines()]
    kernels = [line for line in lines if line["line"] == "kernel"]
    launches = [line | {"symbol": kernels[line["kernel"]]["symbol"]} for line in lines if line["line"] == "launch"]
    return [launch for launch in launches if re.search(names, launch["symbol"])]


def facts_of(program, capture, symbol):
    done = subprocess.run([program, "describe", capture, "--name", symbol, "--format", "json"], capture_output=True, text=True)
    facts = json.loads(done.stdout) if done.stdout.startswith("{") else None
    if facts and not facts["persistent"]:
        facts.pop("evidence", None)  # of another launch
    return facts


def described(program, facts, launch, sizes, place):
    """Of a launch; empty where a value is missing."""
    keys = ("batch", "heads_q", "heads_kv", "q_len", "kv_len", "mask", "head_dim")
    text, missing = described_text(program, {
        "kernel": launch["symbol"], "facts": facts, "sizes": {key: sizes[key] for key in keys}, "grid": launch["grid"],
        "threads": math.prod(launch["block"]), "dynamic_smem": launch["dynamic_shared_bytes"]}, place)
    return "" if missing else text


def predicted(program, text, sizes, hardware, place):
    """Clocks that an SM holds blocks, mean over the SMs; None where the point is refused."""
    file = place / "described.kernel.yaml"
    file.write_text(text)
    done = subprocess.run([program, "predict", "--kernel", file, "--hardware", hardware, "--batch", str(sizes["batch"]),
                           "--heads", str(sizes["heads_q"]), "--kv-heads", str(sizes["heads_kv"]), "--q-len", str(sizes["q_len"]),
                           "--kv-len", str(sizes["kv_len"]), "--head-dim", str(sizes["head_dim"]), "--mask", sizes["mask"],
                           "--format", "json"], capture_output=True, text=True)
    return json.loads(done.stdout)["time"]["busy_cycles"] if done.returncode == 0 else None


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("program")
    parser.add_argument("capture", type=pathlib.Path)
    parser.add_argument("ncu", type=pathlib.Path)
    parser.add_argument("--hardware", default="h100_sxm")
    parser.add_argument("--units", type=int, default=132)
    parser.add_argument("--names", default=NAMES)
    given = parser.parse_args()
    launches, counts = launches_of(given.capture, given.names), counted(given.ncu)
    if [launch["symbol"] for launch in launches] != [name for name, _ in counts]:
        print(f"described_cycles.py: {given.capture} has {len(launches)} launches, {given.ncu} {len(counts)} or others", file=sys.stderr)
        return 2
    facts = {symbol: facts_of(given.program, given.capture, symbol) for symbol in {launch["symbol"] for launch in launches}}
    errors = {}
    with tempfile.TemporaryDirectory() as folder:
        place = pathlib.Path(folder)
        for launch, (symbol, cycles) in zip(launches, counts):
            if not launch["ranges"] or not facts[symbol] or facts[symbol]["pass"] != "forward":
                continue
            sizes = json.loads(launch["ranges"][-1])
            text = described(given.program, facts[symbol], launch, sizes, place)
            both = [predicted(given.program, each, sizes, given.hardware, place) for each in (text, PROGRAM.sub("", text))] if text else []
            if None in both or not both:
                continue
            row = [clocks * given.units / cycles - 1 for clocks in both]
            group = re.search(given.names, symbol).group()
            errors.setdefault(group, []).append(row)
            print(group, *(sizes[key] for key in ("batch", "heads_q", "heads_kv", "q_len", "kv_len", "head_dim", "mask")),
                  *(f"{100 * error:+.1f} %" for error in row))
    for group, rows in errors.items():
        for name, column in (("machine code", 0), ("synthesised", 1)):
            all_of = [abs(row[column]) for row in rows]
            print(f"{group}: {name}, {len(rows)} launches, mean {100 * sum(all_of) / len(rows):.1f} %, worst {100 * max(all_of):.1f} %")
    return 0 if errors else 2


if __name__ == "__main__":
    sys.exit(main())
