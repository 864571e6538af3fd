#!/usr/bin/env python3
"""Asks every command that predicts for points of random, often absurd sizes and checks that each is answered in bounds.

    any_size.py TILESCOPE [--points N] [--seed S] [--slow SECONDS] [--jobs N]

An answer ends within 10 s of processor time and 1 GiB (more only fails above --slow), with exit status 0, 1 or 2 and a
message, never with an internal error, a signal or numbers that are negative or not finite. Exit status 1 with the
command lines that did not.
"""
import argparse
import json
import math
import os
import random
import resource
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

MOST_BYTES = 1 << 30
SCHEDULES = ["standard", "flash1", "flash1-printed", "flash2", "split-kv", "flash2-transposed-values"]
BACKWARD = ["standard-backward", "flash1-backward", "flash2-backward", "flash2-backward-split"]
KERNELS = ["fused_mma", "fused_wgmma", "fused_fp8", "split_kv", "block_sparse", "case_study", "reference", "flash1",
           "fa3_forward", "cudnn_forward", "pytorch_flash2", "split_kv_int4", "mla_decode", "pytorch_efficient"]
GPUS = ["h100_sxm", "h200_sxm", "b200_sxm", "a100_sxm_80", "l4", "mi300x", "rtx3090"]


def size(draw, bits):
    """Log-uniform; often a power of two or beside one."""
    value = 1 << draw.randrange(bits + 1)
    way = draw.random()
    if way < 0.3:
        value = draw.randrange(value, 2 * value)
    elif way < 0.5:
        value += draw.choice([-1, 1])
    return max(1, value)


def extents(draw):
    bits = draw.choice([6, 12, 20, 30, 40])  # of the longest
    heads_kv = size(draw, min(bits, draw.choice([0, 4, 8, 12])))
    words = ["--batch", size(draw, min(bits, draw.choice([0, 6, 16]))), "--heads-q", heads_kv * size(draw, 4), "--heads-kv",
             heads_kv, "--q-len", size(draw, draw.choice([0, bits])), "--head-dim", draw.choice([64, 64, 128, 128, 256, 1, 96, 4096])]
    if draw.random() < 0.5:
        words += ["--kv-len", size(draw, bits)]
    mask = draw.choice(["none", "none", "causal", "causal", f"window:{size(draw, bits)}", f"prefix:{size(draw, bits)}"])
    return words + ["--mask", mask]


def point(draw):
    gpu = draw.choice(GPUS)
    changed = draw.random()
    if changed < 0.15:
        gpu += ":levels.l2.capacity=" + draw.choice(["1TiB", "1KiB", "3GiB"])
    elif changed < 0.2:
        gpu += f":compute.units={size(draw, 20)}"
    gpu, _, change = gpu.partition(":")
    words = ["--hardware", gpu] + (["--set", change] if change else []) + extents(draw)
    way = draw.random()
    if way < 0.4:
        words += ["--schedule", draw.choice(SCHEDULES)]
    elif way < 0.6:
        words += ["--pass", "backward", "--schedule", draw.choice(BACKWARD)]
    elif way < 0.9:
        words += ["--kernel", draw.choice(KERNELS)]
    if draw.random() < 0.3:
        words += ["--tile", f"q={size(draw, 10)},kv={size(draw, 10)}"]
    if "split-kv" in words and draw.random() < 0.7:
        words += ["--splits", size(draw, 24)]
    return words


def command(draw):
    way = draw.random()
    if way < 0.45:
        return ["predict"] + point(draw) + draw.choice([[], [], ["--l2", "closed"], ["--orders"], ["--drift", "20"]])
    if way < 0.55:
        return ["explain"] + point(draw)
    if way < 0.7:
        return ["search"] + point(draw)
    if way < 0.8:
        words = point(draw)
        words[1] = ",".join(draw.sample(GPUS, 3))
        return ["compare"] + words
    if way < 0.88:
        words = point(draw)
        if "--kv-len" in words:  # the axis sets it
            at = words.index("--kv-len")
            del words[at:at + 2]
        return ["sweep", "--axis", f"kv_len={size(draw, 20)},{size(draw, 40)}"] + words
    if way < 0.94:
        diagram = draw.choice(["attention", "attention_backward", "matmul_chain", "mla_absorbed", "attention_sink_window"])
        sizes = [] if diagram == "matmul_chain" else extents(draw)  # its sizes are its own
        return ["derive", diagram, "--memory", size(draw, 40), "--top", "3"] + sizes
    return ["model", draw.choice(["llama-3-70b", "deepseek-v3", "gpt2", "gemma-3-27b"]), "--hardware", draw.choice(GPUS),
            "--batch", size(draw, 24), "--context", size(draw, 40), "--tp", draw.choice([1, 8, size(draw, 12)])]


def numbers(value):
    if isinstance(value, dict):
        for each in value.values():
            yield from numbers(each)
    elif isinstance(value, list):
        for each in value:
            yield from numbers(each)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield value


def run(program, words, slow):
    """Why the command is outside its bounds, or None; processor seconds; peak bytes."""
    def limits():
        resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(slow) + 1, math.ceil(slow) + 1))
        resource.setrlimit(resource.RLIMIT_AS, (4 * MOST_BYTES, 4 * MOST_BYTES))
    with subprocess.Popen([program, *map(str, words), "--format", "json", "-q"], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, preexec_fn=limits) as process:
        with ThreadPoolExecutor(1) as reader:
            errors = reader.submit(process.stderr.read)
            out, err = process.stdout.read(), errors.result().decode()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    seconds, peak = usage.ru_utime + usage.ru_stime, usage.ru_maxrss << 10
    why = None
    if process.returncode not in (0, 1, 2):
        why = f"exit status {process.returncode}"
    elif "internal" in err:
        why = err.strip()[:200]
    elif process.returncode == 2 and not err.strip():
        why = "no message"
    elif seconds > slow:
        why = f"{seconds:.1f} s"
    elif peak > MOST_BYTES:
        why = f"{peak >> 20} MiB"
    elif process.returncode == 0:
        documents = out.splitlines() if words[0] == "sweep" else [out]
        wrong = [x for text in documents if text.strip() for x in numbers(json.loads(text)) if not math.isfinite(x)]
        if wrong:
            why = f"the number {wrong[0]}"
    return why, seconds, peak


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--points", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--slow", type=float, default=10)
    parser.add_argument("--jobs", type=int, default=1)
    given = parser.parse_args()
    draw = random.Random(given.seed)
    commands = [command(draw) for _ in range(given.points)]
    failed, slowest, largest = 0, 0, 0
    with ThreadPoolExecutor(given.jobs) as pool:
        for words, (why, seconds, peak) in zip(commands, pool.map(lambda w: run(given.program, w, given.slow), commands)):
            slowest, largest = max(slowest, seconds), max(largest, peak)
            if why:
                failed += 1
                print(f"{why}: tilescope {' '.join(map(str, words))}", flush=True)
    print(f"{len(commands)} commands, {failed} out of bounds; slowest {slowest:.1f} s of processor time, "
          f"largest {largest >> 20} MiB")
    return 1 if failed or not commands else 0


if __name__ == "__main__":
    sys.exit(main())
