"""Times PyTorch's FlashAttention-2 on the shapes of kernel_bench and prints CSV in its columns.

usage: bench_pytorch.py [--repeats=N] [--dtype=fp16|bf16] [--mask=none|causal] [--backend=FLASH_ATTENTION] \
           batch,heads_q,heads_kv,q_len,kv_len,head_dim ...

TFLOP/s by the field's convention (4 * visible pairs * head_dim). Needs PyTorch with CUDA.
"""
import statistics
import sys

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel


def median_us(run, repeats):
    for _ in range(5):
        run()
    events = [torch.cuda.Event(enable_timing=True) for _ in range(repeats + 1)]
    events[0].record()
    for event in events[1:]:
        run()
        event.record()
    torch.cuda.synchronize()
    return statistics.median(a.elapsed_time(b) * 1e3 for a, b in zip(events, events[1:]))


def main(arguments):
    options = {"repeats": "30", "dtype": "fp16", "mask": "none", "backend": "FLASH_ATTENTION"}
    shapes = []
    for argument in arguments:
        if argument.startswith("--"):
            name, _, value = argument[2:].partition("=")
            if name not in options:
                sys.exit(f"unknown option --{name}\n{__doc__}")
            options[name] = value
        else:
            shapes.append([int(x) for x in argument.split(",")])
    if not shapes:
        sys.exit(__doc__)
    dtype = {"fp16": torch.float16, "bf16": torch.bfloat16}[options["dtype"]]
    causal = options["mask"] == "causal"
    for batch, heads_q, heads_kv, q_len, kv_len, d in shapes:
        if causal and q_len != kv_len:
            sys.exit("PyTorch's causal mask is top-left aligned: give q_len == kv_len")
        q = torch.randn(batch, heads_q, q_len, d, device="cuda", dtype=dtype)
        k, v = (torch.randn(batch, heads_kv, kv_len, d, device="cuda", dtype=dtype) for _ in range(2))
        with sdpa_kernel(getattr(SDPBackend, options["backend"])):
            us = median_us(
                lambda: torch.nn.functional.scaled_dot_product_attention(
                    q, k, v, is_causal=causal, enable_gqa=heads_q != heads_kv),
                int(options["repeats"]))
        pairs = q_len * (q_len + 1) / 2 if causal else q_len * kv_len
        tflops = 4 * batch * heads_q * pairs * d / us * 1e-6
        print(f"pytorch_{options['backend'].lower()},{options['dtype']},{d},,,,{batch},{heads_q},{heads_kv},"
              f"{q_len},{kv_len},"
              f"{options['mask']},{us:.2f},{tflops:.1f},,,", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
