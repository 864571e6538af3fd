#!/usr/bin/env python3
"""Times torch.matmul for matrices of language models: measure.py FILE.csv

Needs a CUDA GPU and PyTorch. Weights come from DRAM: copies of three times the L2 are used in turn. A CUDA graph holds
the calls, so that the host adds no time. Each row is the median of five replays.
"""
import csv
import sys

import torch

# (summed axis, columns) of projections and feed-forward layers: Llama 3 8B and 70B, DeepSeek-V3, Qwen3, a head.
MATRICES = [(4096, 6144), (4096, 4096), (4096, 28672), (14336, 4096), (8192, 1280), (1024, 8192), (8192, 7168), (3584, 8192),
            (7168, 2048), (2048, 7168), (8192, 28672), (28672, 8192), (2048, 768), (4096, 128256)]
ROWS = (1, 16, 64, 256, 1024, 8192)
MOST_BYTES = 8 << 30


def seconds_of(rows, summed, columns, dtype):
    cache = torch.cuda.get_device_properties(0).L2_cache_size
    copies = max(2, int(3 * cache / (summed * columns * 2)) + 1)
    copies = copies if copies * summed * columns * 2 <= MOST_BYTES else 2
    weights = [torch.randn(columns, summed, device="cuda", dtype=dtype).t() for _ in range(copies)]
    inputs = torch.randn(rows, summed, device="cuda", dtype=dtype)
    for weight in weights[:3]:
        inputs @ weight
    torch.cuda.synchronize()
    calls = 20 if rows * summed * columns < 1 << 33 else 6
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for i in range(calls):
            inputs @ weights[i % copies]
    graph.replay()
    torch.cuda.synchronize()
    samples = []
    for _ in range(5):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        graph.replay()
        end.record()
        torch.cuda.synchronize()
        samples.append(start.elapsed_time(end) / calls * 1e-3)
    return sorted(samples)[2]


def main():
    with open(sys.argv[1], "w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["dtype", "rows", "summed", "columns", "seconds"])
        for name, dtype, matrices in (("fp16", torch.float16, MATRICES), ("bf16", torch.bfloat16, MATRICES[:4])):
            for summed, columns in matrices:
                for rows in ROWS:
                    table.writerow([name, rows, summed, columns, f"{seconds_of(rows, summed, columns, dtype):.4g}"])


if __name__ == "__main__":
    main()
