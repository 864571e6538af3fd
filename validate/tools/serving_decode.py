#!/usr/bin/env python3
"""Sets the decoding times of `tilescope model` beside those of serving software.

usage: serving_decode.py TILESCOPE

Reads validate/serving/decode.csv: times of one decode step's attention in vLLM and SGLang with bf16 queries, at least 128 MiB of keys
and values; 20 rows of each software, GPU and format of the keys with head dimensions 64 to 256, and 12 with head dimension 192, drawn
with seed 20261125. Source: ai-dynamo/aiconfigurator at 095f58a, systems/data, Apache-2.0, Copyright NVIDIA Corporation & Affiliates;
changed: Parquet to CSV, columns renamed, a sample.
The prediction is that of `model`: the fastest kernel with a descriptor or, where none runs, an ideal one; DRAM bytes by the closed form,
and at least the time of the DRAM bytes. It is not the software's own kernel.
"""
import collections
import csv
import json
import pathlib
import statistics
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]


# As src/network/layer_time.cpp chooses.
CHOICES = [["--kernel", "auto"]], [["--schedule", "flash2"], ["--schedule", "split-kv"]]


def seconds_by(program, row, choice):
    """None: nothing runs."""
    command = [program, "predict", *choice, "--l2", "closed", "--format", "json", "--dtype", row["dtype"], "--q-len", "1",
               "--hardware", row["hardware"], "--batch", row["batch"], "--heads-q", row["heads_q"], "--heads-kv",
               row["heads_kv"], "--kv-len", row["kv_len"], "--head-dim", row["head_dim"]]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == 1 or (done.returncode == 2 and choice == ["--kernel", "auto"]):
        return None
    if done.returncode != 0:
        sys.exit(f"serving_decode.py: {' '.join(command)}: status {done.returncode}\n{done.stderr}")
    time = json.loads(done.stdout)["time"]
    dram = next(resource["seconds"] for resource in time["resources"] if resource["name"] == "hbm")
    return max(time["seconds"], dram)


def predicted_ms(program, row):
    """And whether the kernel is an ideal one."""
    for ideal, choices in enumerate(CHOICES):
        found = [seconds for choice in choices if (seconds := seconds_by(program, row, choice)) is not None]
        if found:
            return 1e3 * min(found), bool(ideal)
    sys.exit(f"serving_decode.py: nothing runs {row}")


def main():
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    errors, ideal = collections.defaultdict(list), collections.Counter()
    with open(TOP / "validate/serving/decode.csv", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            keys = "fp8" if "fp8" in row["dtype"] else "bf16"
            group = row["hardware"], row["software"], keys, "192" if row["head_dim"] == "192" else "64 to 256"
            predicted, is_ideal = predicted_ms(sys.argv[1], row)
            errors[group].append(predicted / float(row["ms"]) - 1)
            ideal[group] += is_ideal
    print("| GPU | software | keys | head dimension | n | of an ideal kernel | mean of errors' amounts | median error | 9 of 10 within |\n"
          "|---|---|---|---|--:|--:|--:|--:|--:|")
    for group, each in errors.items():
        amounts = sorted(map(abs, each))
        print(f"| {' | '.join(group)} | {len(each)} | {ideal[group]} | {100 * statistics.mean(amounts):.1f} % | "
              f"{100 * statistics.median(each):+.1f} % | {100 * amounts[int(0.9 * len(amounts)) - 1]:.1f} % |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
