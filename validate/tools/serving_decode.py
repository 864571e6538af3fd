#!/usr/bin/env python3
"""Sets the decoding times of `tilescope model` beside those of serving software.

usage: serving_decode.py TILESCOPE

Reads validate/serving/decode.csv: times of one decode step's attention in vLLM and SGLang, bf16, at least 128 MiB of keys and
values, 20 rows of each software and GPU drawn with seed 20261125. Source: ai-dynamo/aiconfigurator at 095f58a,
systems/data, Apache-2.0, Copyright NVIDIA Corporation & Affiliates; changed: Parquet to CSV, columns renamed, a sample.
The prediction is that of `model`: the fastest kernel with a descriptor, DRAM bytes by the closed form, and at least the time of
the DRAM bytes. It is not the software's own kernel.
"""
import collections
import csv
import json
import pathlib
import statistics
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]


def predicted_ms(program, row):
    command = [program, "predict", "--kernel", "auto", "--l2", "closed", "--format", "json", "--dtype", "bf16", "--q-len",
               "1", "--hardware", row["hardware"], "--batch", row["batch"], "--heads-q", row["heads_q"], "--heads-kv",
               row["heads_kv"], "--kv-len", row["kv_len"], "--head-dim", row["head_dim"]]
    time = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)["time"]
    dram = next(resource["seconds"] for resource in time["resources"] if resource["name"] == "hbm")
    return 1e3 * max(time["seconds"], dram)


def main():
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    errors = collections.defaultdict(list)
    with open(TOP / "validate/serving/decode.csv", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            errors[row["hardware"], row["software"]].append(predicted_ms(sys.argv[1], row) / float(row["ms"]) - 1)
    print("| GPU | software | n | mean of errors' amounts | median error | 9 of 10 within |\n|---|---|--:|--:|--:|--:|")
    for (hardware, software), each in errors.items():
        amounts = sorted(map(abs, each))
        print(f"| {hardware} | {software} | {len(each)} | {100 * statistics.mean(amounts):.1f} % | "
              f"{100 * statistics.median(each):+.1f} % | {100 * amounts[int(0.9 * len(amounts)) - 1]:.1f} % |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
