"""Triton attention with rows of several lengths in several array layouts; the counts of its launches on an H100 stand in
src/predict/array_layout_test.cpp.
tilescope capture --counters --cold -o DIRECTORY -- python3 triton_layouts.py 36"""
import math
import sys

import torch
import triton
import triton.language as tl


@triton.jit
def attn_layout(Q, K, V, O, M, scale, qb8, qh8, qr8, kb8, kh8, kr8, ob8, oh8, or8, H, HK, N,
                D: tl.constexpr, DP: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, CAUSAL: tl.constexpr):
    start_m = tl.program_id(0)
    z, h = tl.program_id(1) // H, tl.program_id(1) % H
    hk = h // (H // HK)
    rows = start_m * BM + tl.arange(0, BM)
    dims = tl.arange(0, DP)
    Q += (z * qb8 + h * qh8) * 8
    O += (z * ob8 + h * oh8) * 8
    K += (z * kb8 + hk * kh8) * 8
    V += (z * kb8 + hk * kh8) * 8
    q = tl.load(Q + rows[:, None] * (qr8 * 8) + dims[None, :], mask=dims[None, :] < D, other=0.0)
    m = tl.zeros([BM], dtype=tl.float32) - float("inf")
    l = tl.zeros([BM], dtype=tl.float32) + 1.0
    acc = tl.zeros([BM, DP], dtype=tl.float32)
    qk_scale = scale * 1.44269504
    hi = N
    if CAUSAL:
        hi = (start_m + 1) * BM
    for start in tl.range(0, hi, BN):
        cols = start + tl.arange(0, BN)
        k = tl.load(K + cols[None, :] * (kr8 * 8) + dims[:, None], mask=dims[:, None] < D, other=0.0)
        s = tl.dot(q, k) * qk_scale
        if CAUSAL:
            s = tl.where(rows[:, None] >= cols[None, :], s, -1.0e6)
        m_new = tl.maximum(m, tl.max(s, 1))
        p = tl.math.exp2(s - m_new[:, None])
        alpha = tl.math.exp2(m - m_new)
        l = l * alpha + tl.sum(p, 1)
        acc = acc * alpha[:, None]
        v = tl.load(V + cols[:, None] * (kr8 * 8) + dims[None, :], mask=dims[None, :] < D, other=0.0)
        acc = tl.dot(p.to(v.dtype), v, acc)
        m = m_new
    m += tl.math.log2(l)
    acc = acc / l[:, None]
    tl.store(M + tl.program_id(1) * N + rows, m)
    tl.store(O + rows[:, None] * (or8 * 8) + dims[None, :], acc.to(O.dtype.element_ty), mask=dims[None, :] < D)

@triton.jit
def attn_layout_map(Q, K, V, O, M, scale, Z, H, N, D: tl.constexpr, BM: tl.constexpr,
                    BN: tl.constexpr):
    start_m = tl.program_id(0)
    z, h = tl.program_id(1) // H, tl.program_id(1) % H
    dq = tl.make_tensor_descriptor(Q, shape=[Z * N, H * D], strides=[H * D, 1], block_shape=[BM, D])
    dk = tl.make_tensor_descriptor(K, shape=[Z * N, H * D], strides=[H * D, 1], block_shape=[BN, D])
    dv = tl.make_tensor_descriptor(V, shape=[Z * N, H * D], strides=[H * D, 1], block_shape=[BN, D])
    do = tl.make_tensor_descriptor(O, shape=[Z * N, H * D], strides=[H * D, 1], block_shape=[BM, D])
    rows = start_m * BM + tl.arange(0, BM)
    q = dq.load([z * N + start_m * BM, h * D])
    m = tl.zeros([BM], dtype=tl.float32) - float("inf")
    l = tl.zeros([BM], dtype=tl.float32) + 1.0
    acc = tl.zeros([BM, D], dtype=tl.float32)
    qk_scale = scale * 1.44269504
    for start in tl.range(0, N, BN):
        k = dk.load([z * N + start, h * D]).T
        s = tl.dot(q, k) * qk_scale
        m_new = tl.maximum(m, tl.max(s, 1))
        p = tl.math.exp2(s - m_new[:, None])
        alpha = tl.math.exp2(m - m_new)
        l = l * alpha + tl.sum(p, 1)
        acc = acc * alpha[:, None]
        v = dv.load([z * N + start, h * D])
        acc = tl.dot(p.to(v.dtype), v, acc)
        m = m_new
    m += tl.math.log2(l)
    acc = acc / l[:, None]
    tl.store(M + tl.program_id(1) * N + rows, m)
    do.store([z * N + start_m * BM, h * D], acc.to(O.dtype.element_ty))

triton.set_allocator(lambda size, align, stream: torch.empty(size, dtype=torch.int8, device="cuda"))
R = int(sys.argv[1])
H16, BF = torch.float16, torch.bfloat16
torch.manual_seed(0)
# layout, batch, heads, kv heads, n, d, mask, dtype, BM, BN, warps, stages
CASES = [
    ("bhld", 2, 8, 8, 2048, 72, "none", H16, 64, 64, 4, 2),
    ("blhd", 2, 8, 8, 2048, 72, "none", H16, 64, 64, 4, 2),
    ("qkv", 2, 8, 8, 2048, 72, "none", H16, 64, 64, 4, 2),
    ("blhd", 2, 8, 8, 2048, 80, "none", H16, 64, 64, 4, 2),
    ("blhd", 2, 8, 8, 2048, 40, "none", BF, 128, 64, 8, 3),
    ("bhld", 2, 8, 8, 2048, 40, "none", BF, 128, 64, 8, 3),
    ("blhd", 1, 16, 16, 2048, 104, "causal", H16, 128, 64, 8, 2),
    ("qkv", 2, 12, 12, 1024, 64, "causal", H16, 128, 64, 4, 3),
    ("blhd", 3, 6, 2, 1536, 72, "causal", BF, 64, 32, 4, 3),
    ("blhd", 2, 16, 4, 2048, 128, "causal", BF, 128, 64, 8, 2),
    ("qkv", 1, 8, 8, 4096, 88, "none", BF, 128, 64, 8, 2),
    ("map", 2, 8, 8, 2048, 64, "none", H16, 128, 64, 4, 3),
]
for kind, b, h, hk, n, d, mask, dt, bm, bn, w, st in CASES:
    try:
        if kind == "bhld":
            q, k, v = (torch.randn(b, count, n, d, device="cuda", dtype=dt) for count in (h, hk, hk))
            o = torch.empty_like(q)
        else:
            if kind == "qkv":
                q, k, v = torch.randn(b, n, 3, h, d, device="cuda", dtype=dt).permute(2, 0, 3, 1, 4).unbind(0)
            else:
                q = torch.randn(b, n, h, d, device="cuda", dtype=dt).transpose(1, 2)
                k, v = (torch.randn(b, n, hk, d, device="cuda", dtype=dt).transpose(1, 2) for _ in range(2))
            o = torch.empty(b, n, h, d, device="cuda", dtype=dt).transpose(1, 2)
        M = torch.empty(b, h, n, device="cuda")
        dp = triton.next_power_of_2(d)
        torch.cuda.nvtx.range_push(f"batch={b} heads_q={h} heads_kv={hk} q_len={n} kv_len={n} head_dim={d} mask={mask} "
                                   f"dtype={'bf16' if dt == BF else 'fp16'}")
        for _ in range(R):
            if kind == "map":
                attn_layout_map[(n // bm, b * h)](q, k, v, o, M, 1 / math.sqrt(d), b, h, n, d, bm, bn, num_warps=w,
                                                  num_stages=st)
            else:
                s8 = [x // 8 for t in (q, k, o) for x in t.stride()[:3]]
                attn_layout[(n // bm, b * h)](q, k, v, o, M, 1 / math.sqrt(d), *s8, h, hk, n, d, dp, bm, bn,
                                              mask == "causal", num_warps=w, num_stages=st)
        torch.cuda.nvtx.range_pop()
        torch.cuda.synchronize()
        kk, vv = (x.repeat_interleave(h // hk, 1) for x in (k, v))
        s = (q.float() @ kk.float().transpose(2, 3)) / math.sqrt(d)
        if mask == "causal":
            i = torch.arange(n, device="cuda"); s.masked_fill_(i[:, None] < i[None, :], -float("inf"))
        err = (o.float() - torch.softmax(s, -1) @ vv.float()).abs().max().item()
        print(kind, b, h, hk, n, d, mask, bm, bn, w, st, "error %.4f" % err, flush=True)
    except Exception as e:
        print(kind, n, d, mask, bm, bn, "FAILED", str(e)[:300], flush=True)
