"""The program of h100_small_program.jsonl: PyTorch's FlashAttention-2 and memory-efficient attention, and a Triton kernel, each
in an NVTX range with its sizes. tilescope capture --cold -o DIRECTORY -- python3 small_program.py 40"""
import math
import pathlib
import sys

import torch
import torch.nn.functional as F
import triton
from torch.nn.attention import SDPBackend, sdpa_kernel

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "described"))
import triton_forward

LAUNCHES = int(sys.argv[1]) if len(sys.argv) > 1 else 40
HALF, BF16 = torch.float16, torch.bfloat16
# backend, batch, query heads, KV heads, queries, keys, head dimension, causal, format
SDPA = (("FLASH_ATTENTION", 2, 16, 16, 2048, 2048, 128, False, HALF), ("FLASH_ATTENTION", 2, 16, 4, 2000, 2000, 64, True, BF16),
        ("EFFICIENT_ATTENTION", 2, 16, 16, 1024, 1024, 64, False, HALF))
# the same, then tile of queries, of keys, warps, stages
TRITON = ((2, 8, 8, 2048, 2048, 64, False, HALF, 128, 64, 4, 3), (2, 16, 4, 1000, 1000, 128, True, BF16, 64, 128, 8, 2))


def tensors(batch, heads, kv_heads, queries, keys, dim, dtype):
    shapes = (batch, heads, queries, dim), (batch, kv_heads, keys, dim), (batch, kv_heads, keys, dim)
    return (torch.randn(shape, device="cuda", dtype=dtype) for shape in shapes)


def push(batch, heads, kv_heads, queries, keys, dim, causal, dtype):
    torch.cuda.nvtx.range_push(f"batch={batch} heads_q={heads} heads_kv={kv_heads} q_len={queries} kv_len={keys} head_dim={dim} "
                               f"mask={'causal' if causal else 'none'} dtype={'bf16' if dtype == BF16 else 'fp16'}")


torch.manual_seed(1)
w = torch.randn(4096, 4096, device="cuda", dtype=BF16)
for _ in range(12):
    torch.relu(w @ w)
for backend, *sizes, causal, dtype in SDPA:
    q, k, v = tensors(*sizes, dtype)
    torch.cuda.nvtx.range_push(backend.lower())
    push(*sizes, causal, dtype)
    with sdpa_kernel(getattr(SDPBackend, backend)):
        for _ in range(LAUNCHES):
            F.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=sizes[1] != sizes[2])
    torch.cuda.nvtx.range_pop()
    torch.cuda.nvtx.range_pop()
for *sizes, causal, dtype, tile_q, tile_kv, warps, stages in TRITON:
    batch, heads, kv_heads, queries, keys, dim = sizes
    q, k, v = tensors(*sizes, dtype)
    o, lse = torch.empty_like(q), torch.empty(batch, heads, queries, device="cuda")
    torch.cuda.nvtx.range_push("triton")
    push(*sizes, causal, dtype)
    for _ in range(LAUNCHES):
        triton_forward.fwd[(triton.cdiv(queries, tile_q), batch * heads)](
            q, k, v, o, lse, 1 / math.sqrt(dim), *q.stride()[:3], *k.stride()[:3], heads, kv_heads, queries, keys, dim, tile_q,
            tile_kv, causal, num_warps=warps, num_stages=stages)
    torch.cuda.nvtx.range_pop()
    torch.cuda.nvtx.range_pop()
torch.cuda.synchronize()
