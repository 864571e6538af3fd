#!/usr/bin/env python3
"""Measures what power and clock cuBLAS's matrix product takes with zeros and with random values.

usage: matmul_power.py >matmul_power_GPU.txt

One product of 8192 x 8192 x 8192 after another for 5 s, of each format and kind of values. A line each: TFLOP/s of the first 50
products after a pause and, after 2 s, of the median 50; then medians of the power in W and of the SM clock in MHz over that time.
Needs PyTorch, a GPU and nvidia-smi. What docs/model.md says of an A100's energies is checked with it on a measured GPU.
"""
import statistics
import subprocess
import threading
import time

import torch

SIZE, PAUSE, BEGIN, SECONDS, PRODUCTS = 8192, 2, 2, 5, 50
SAMPLES = ["nvidia-smi", "-i", "0", "--query-gpu=power.draw.instant,clocks.sm", "--format=csv,noheader,nounits", "-lms", "100"]


def sample(process, samples):
    for line in process.stdout:
        samples.append((time.time(), [float(word) for word in line.split(",")]))


def measure(values, dtype):
    a, b, c = (values(SIZE, SIZE, device="cuda").to(dtype) for _ in range(3))
    torch.mm(a, b, out=c)
    torch.cuda.synchronize()
    time.sleep(PAUSE)
    rates, samples, start = [], [], time.time()
    with subprocess.Popen(SAMPLES, stdout=subprocess.PIPE, text=True) as process:
        reader = threading.Thread(target=sample, args=(process, samples))
        reader.start()
        while time.time() < start + SECONDS:
            begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            begin.record()
            for _ in range(PRODUCTS):
                torch.mm(a, b, out=c)
            end.record()
            end.synchronize()
            rates.append((time.time(), 2 * SIZE**3 * PRODUCTS / begin.elapsed_time(end) / 1e9))
        process.kill()
        reader.join()

    def late(pairs):
        return [value for when, value in pairs if when > start + BEGIN]

    watts, clocks = zip(*late(samples))
    return rates[0][1], statistics.median(late(rates)), statistics.median(watts), statistics.median(clocks)


print(torch.cuda.get_device_name(), "PyTorch", torch.__version__)
print("format values: TFLOP/s first, later; W, MHz")
for dtype in (torch.float16, torch.bfloat16):
    for name, values in (("zeros", torch.zeros), ("uniform", torch.rand), ("normal", torch.randn)):
        first, later, watts, clock = measure(values, dtype)
        print(f"{str(dtype).removeprefix('torch.')} {name}: {first:.0f}, {later:.0f}; {watts:.0f}, {clock:.0f}", flush=True)
