"""Launches attention of PyTorch, Triton and FlexAttention at known sizes, which an NVTX range around each states as JSON.
Run under `tilescope capture`, or under ncu with REPEATS=1. ONLY=sdpa, flex or triton runs one part."""
import json
import math
import os
import sys

import torch
import torch.nn.functional as F
import triton
from torch.nn.attention import SDPBackend, sdpa_kernel

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import triton_forward

REPEATS, ONLY = int(os.environ.get("REPEATS", "3")), os.environ.get("ONLY", "")
NAMES = {torch.float16: "fp16", torch.bfloat16: "bf16", torch.float32: "fp32"}
h, b, f = torch.float16, torch.bfloat16, torch.float32


def arrays(B, H, HK, M, N, D, dtype, layout, grad=False):
    def one(heads, length):
        if layout == "bhsd":
            return torch.randn(B, heads, length, D, device="cuda", dtype=dtype, requires_grad=grad)
        return torch.randn(B, length, heads, D, device="cuda", dtype=dtype, requires_grad=grad).transpose(1, 2)
    return one(H, M), one(HK, N), one(HK, N)


def label(B, H, HK, M, N, D, mask, dtype, layout, **more):
    torch.cuda.nvtx.range_push(json.dumps(dict(batch=B, heads_q=H, heads_kv=HK, q_len=M, kv_len=N, mask=mask, head_dim=D,
                                               dtype=NAMES[dtype], layout=layout, **more)))


def sdpa(backend, B, H, HK, M, N, D, causal, dtype, layout, backward):
    q, k, v = arrays(B, H, HK, M, N, D, dtype, layout, backward)
    label(B, H, HK, M, N, D, "causal" if causal else "none", dtype, layout, backend=backend, backward=backward)
    with sdpa_kernel(getattr(SDPBackend, backend)):
        for _ in range(REPEATS):
            o = F.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=H != HK)
            if backward:
                torch.autograd.grad(o, (q, k, v), torch.ones_like(o))
    torch.cuda.nvtx.range_pop()


def all_sdpa():
    forward = [(2, 16, 16, 2048, 2048, 64, False, h, "bhsd"), (3, 12, 12, 1000, 1000, 64, False, h, "bshd"),
               (2, 16, 16, 2048, 2048, 128, True, b, "bhsd"), (4, 8, 8, 777, 1500, 128, False, h, "bshd"),
               (1, 24, 24, 1536, 1536, 64, True, b, "bshd"), (2, 8, 8, 640, 1280, 96, False, h, "bhsd"),
               (2, 8, 8, 1024, 1024, 256, False, h, "bhsd"), (2, 6, 6, 512, 2048, 32, False, b, "bhsd"),
               (5, 16, 16, 320, 320, 128, True, h, "bhsd")]
    grouped = [(2, 16, 4, 1024, 1024, 64, False, h, "bhsd"), (3, 8, 2, 999, 1333, 128, False, b, "bhsd"),
               (2, 32, 8, 1024, 1024, 128, True, h, "bshd")]
    decode = [(8, 32, 8, 1, 4096, 128, False, h, "bhsd"), (4, 16, 16, 1, 3000, 64, False, b, "bhsd")]
    single = [(2, 4, 4, 700, 900, 64, False, f, "bhsd"), (2, 4, 4, 512, 512, 64, True, f, "bhsd")]
    for backend in ("FLASH_ATTENTION", "EFFICIENT_ATTENTION"):
        for case in forward + (grouped + decode if backend == "FLASH_ATTENTION" else decode[1:] + single):
            sdpa(backend, *case, False)
        for case in forward[:3] + forward[4:7] + forward[8:]:
            sdpa(backend, *case, True)


def all_triton():
    for tile_q, tile_kv, warps, stages in ((64, 64, 4, 2), (128, 64, 8, 2), (128, 128, 8, 3)):
        for D in (64, 128):
            for causal in (False, True):
                for B, H, HK, M, N, layout in ((2, 8, 4, 1000, 1000, "bhsd"), (3, 6, 2, 777, 777 if causal else 1555, "bshd"),
                                               (1, 16, 16, 2048, 2048, "bhsd"), (4, 8, 8, 512, 512 if causal else 1536, "bshd")):
                    dtype = h if D == 64 else b
                    q, k, v = arrays(B, H, HK, M, N, D, dtype, layout)
                    o, lse = torch.empty_like(q), torch.empty(B, H, M, device="cuda")
                    label(B, H, HK, M, N, D, "causal" if causal else "none", dtype, layout, tile_q=tile_q, tile_kv=tile_kv)
                    for _ in range(REPEATS):
                        triton_forward.fwd[(triton.cdiv(M, tile_q), B * H)](
                            q, k, v, o, lse, 1 / math.sqrt(D), *q.stride()[:3], *k.stride()[:3], H, HK, M, N, D, tile_q,
                            tile_kv, causal, num_warps=warps, num_stages=stages)
                    torch.cuda.nvtx.range_pop()


def all_flex():
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention
    causal = lambda batch, head, q, k: q >= k
    window = lambda batch, head, q, k: (q >= k) & (q - k < 300)
    documents = lambda batch, head, q, k: q // 400 == k // 400
    for mask, B, H, HK, L, D, dtype, title in ((None, 2, 8, 8, 1024, 64, b, "none"), (causal, 2, 8, 2, 2048, 128, b, "causal"),
                                               (window, 3, 6, 6, 1500, 64, h, "window:300"),
                                               (documents, 2, 8, 8, 1600, 128, b, "documents:400")):
        torch._dynamo.reset()
        attention = torch.compile(flex_attention, dynamic=False)
        q, k, v = arrays(B, H, HK, L, L, D, dtype, "bhsd")
        blocks = create_block_mask(mask, None, None, L, L) if mask else None
        attention(q, k, v, block_mask=blocks, enable_gqa=H != HK)
        torch.cuda.synchronize()
        label(B, H, HK, L, L, D, title, dtype, "bhsd")
        for _ in range(REPEATS):
            attention(q, k, v, block_mask=blocks, enable_gqa=H != HK)
        torch.cuda.nvtx.range_pop()


for part in (all_sdpa, all_flex, all_triton):
    if ONLY in part.__name__:
        part()
torch.cuda.synchronize()
