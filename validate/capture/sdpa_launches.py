"""Records which kernels a call of PyTorch's attention launches, one JSON line a call: those of the backend that PyTorch
chooses, and of each backend that is forced. validate/launches holds what it printed; the table of calls
(kernels/third_party/pytorch.calls.yaml) is tested against it.

usage: sdpa_launches.py PROFILE > validate/launches/GPU.jsonl
"""
import itertools
import json
import re
import sys

import torch
from torch.nn.attention import SDPBackend as B, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention as sdpa
from torch.profiler import profile, ProfilerActivity

def points():
    for b, hq, hk in [(1, 16, 16), (2, 32, 8), (16, 32, 8), (64, 32, 8), (16, 16, 16)]:
        for q, kv in [(1, 1024), (1, 8192), (2, 4096), (16, 4096), (64, 64), (128, 128), (128, 4096), (1000, 1000), (2048, 2048)]:
            for d in (64, 128, 256):
                for causal in (False, True):
                    if b * hq * q * kv > 2 ** 33 or (causal and q != kv): continue
                    yield b, hq, hk, q, kv, d, causal, "bf16", False
    for q, d, causal in itertools.product((1, 128, 1000, 2048), (64, 128, 256), (False, True)):
        for hk in (16, 4):
            yield 2, 16, hk, q, q, d, causal, "fp16", True

def launches(run):
    run()
    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CUDA]) as p:
        for _ in range(3): run()
        torch.cuda.synchronize()
    p.export_chrome_trace("/tmp/trace.json")
    found = [e for e in json.load(open("/tmp/trace.json"))["traceEvents"] if e.get("cat") == "kernel"]
    found.sort(key=lambda e: e["ts"])
    last = found[len(found) // 3 * 2:]
    return [{"name": re.split(r"[<(]", e["name"].removeprefix("void "))[0], "grid": e["args"]["grid"], "block": e["args"]["block"][0], "us": round(e["dur"], 2)} for e in last]

def show(row):
    print(json.dumps(row, separators=(",", ":")), flush=True)

def main():
    gpu = sys.argv[1]
    show({"schema": "tilescope/launches/1", "hardware": gpu, "gpu": torch.cuda.get_device_name(),
          "call": "torch.nn.functional.scaled_dot_product_attention", "torch": torch.__version__,
          "cudnn": torch.backends.cudnn.version()})
    types = {"bf16": torch.bfloat16, "fp16": torch.float16}
    for b, hq, hk, q, kv, d, causal, dtype, back in points():
        make = lambda h, n: torch.randn(b, n, h, d, device="cuda", dtype=types[dtype]).transpose(1, 2).requires_grad_(back)
        x, y, z = make(hq, q), make(hk, kv), make(hk, kv)
        g = torch.randn(b, q, hq, d, device="cuda", dtype=types[dtype]).transpose(1, 2)
        for name, only in [("default", None), ("flash", B.FLASH_ATTENTION), ("cudnn", B.CUDNN_ATTENTION),
                           ("efficient", B.EFFICIENT_ATTENTION)]:
            def run():
                o = sdpa(x, y, z, is_causal=causal, enable_gqa=hq != hk)
                if back: o.backward(g)
            row = {"schema": "tilescope/launch/1", "batch": b, "heads_q": hq, "heads_kv": hk, "q_len": q, "kv_len": kv,
                   "head_dim": d, "mask": "causal" if causal else "none", "dtype": dtype, "pass": "training" if back else "forward", "backend": name}
            try:
                if only is None: row["launches"] = launches(run)
                else:
                    with sdpa_kernel(only): row["launches"] = launches(run)
            except RuntimeError as error:
                row["error"] = str(error)[:80]
            show(row)
        del x, y, z, g

main()
