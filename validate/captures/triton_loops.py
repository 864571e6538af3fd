"""The program of h100_triton_loops.jsonl: Triton kernels of several tiles, masks and head dimensions, by pointers and by
tensor descriptors, each in an NVTX range with its sizes.
tilescope capture --cold -o DIRECTORY -- python3 triton_loops.py 36"""
import math
import sys

import torch
import triton
import triton.language as tl


@triton.jit
def inner(acc, l, m, q, K, V, k_row, lo, hi, rows, KV_LEN, qk_scale, D: tl.constexpr, BN: tl.constexpr,
          MASK: tl.constexpr, W: tl.constexpr):
    dims = tl.arange(0, D)
    for start in tl.range(lo, hi, BN):
        start = tl.multiple_of(start, BN)
        cols = start + tl.arange(0, BN)
        k = tl.load(K + cols[None, :] * k_row + dims[:, None])
        s = tl.dot(q, k)
        if MASK:
            ok = rows[:, None] >= cols[None, :]
            if W > 0:
                ok = ok & (rows[:, None] - cols[None, :] < W)
            s = s * qk_scale + tl.where(ok, 0, -1.0e6)
            m_new = tl.maximum(m, tl.max(s, 1))
            s -= m_new[:, None]
        else:
            m_new = tl.maximum(m, tl.max(s, 1) * qk_scale)
            s = s * qk_scale - m_new[:, None]
        p = tl.math.exp2(s)
        alpha = tl.math.exp2(m - m_new)
        l = l * alpha + tl.sum(p, 1)
        acc = acc * alpha[:, None]
        v = tl.load(V + cols[:, None] * k_row + dims[None, :])
        acc = tl.dot(p.to(v.dtype), v, acc)
        m = m_new
    return acc, l, m

@triton.jit
def attn_two_loops(Q, K, V, O, M, scale, qb, qh, qr, kb, kh, kr, H, HK, N,
                   D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, CAUSAL: tl.constexpr, W: tl.constexpr):
    start_m = tl.program_id(0)
    z, h = tl.program_id(1) // H, tl.program_id(1) % H
    hk = h // (H // HK)
    rows = start_m * BM + tl.arange(0, BM)
    dims = tl.arange(0, D)
    Q += z * qb + h * qh
    O += z * qb + h * qh
    K += z * kb + hk * kh
    V += z * kb + hk * kh
    q = tl.load(Q + rows[:, None] * qr + dims[None, :])
    m = tl.zeros([BM], dtype=tl.float32) - float("inf")
    l = tl.zeros([BM], dtype=tl.float32) + 1.0
    acc = tl.zeros([BM, D], dtype=tl.float32)
    qk_scale = scale * 1.44269504
    if CAUSAL:
        if W == 0:
            acc, l, m = inner(acc, l, m, q, K, V, kr, 0, start_m * BM, rows, N, qk_scale, D, BN, False, 0)
            acc, l, m = inner(acc, l, m, q, K, V, kr, start_m * BM, (start_m + 1) * BM, rows, N, qk_scale, D, BN,
                              True, 0)
        else:
            lo = tl.maximum(0, (start_m * BM - W) // BN * BN)
            acc, l, m = inner(acc, l, m, q, K, V, kr, lo, (start_m + 1) * BM, rows, N, qk_scale, D, BN, True, W)
    else:
        acc, l, m = inner(acc, l, m, q, K, V, kr, 0, N, rows, N, qk_scale, D, BN, False, 0)
    m += tl.math.log2(l)
    acc = acc / l[:, None]
    tl.store(M + tl.program_id(1) * N + rows, m)
    tl.store(O + rows[:, None] * qr + dims[None, :], acc.to(O.dtype.element_ty))

@triton.jit
def attn_descriptors(Q, K, V, O, M, scale, Z, H, N, D: tl.constexpr, BM: tl.constexpr,
                     BN: tl.constexpr, CAUSAL: tl.constexpr):
    start_m = tl.program_id(0)
    zh = tl.program_id(1)
    y = Z * H * N
    dq = tl.make_tensor_descriptor(Q, shape=[y, D], strides=[D, 1], block_shape=[BM, D])
    dk = tl.make_tensor_descriptor(K, shape=[y, D], strides=[D, 1], block_shape=[BN, D])
    dv = tl.make_tensor_descriptor(V, shape=[y, D], strides=[D, 1], block_shape=[BN, D])
    do = tl.make_tensor_descriptor(O, shape=[y, D], strides=[D, 1], block_shape=[BM, D])
    rows = start_m * BM + tl.arange(0, BM)
    base = zh * N
    q = dq.load([base + start_m * BM, 0])
    m = tl.zeros([BM], dtype=tl.float32) - float("inf")
    l = tl.zeros([BM], dtype=tl.float32) + 1.0
    acc = tl.zeros([BM, D], dtype=tl.float32)
    qk_scale = scale * 1.44269504
    hi = N
    if CAUSAL:
        hi = (start_m + 1) * BM
    for start in tl.range(0, hi, BN):
        k = dk.load([base + start, 0]).T
        s = tl.dot(q, k) * qk_scale
        if CAUSAL:
            cols = start + tl.arange(0, BN)
            s = tl.where(rows[:, None] >= cols[None, :], s, -1.0e6)
        m_new = tl.maximum(m, tl.max(s, 1))
        p = tl.math.exp2(s - m_new[:, None])
        alpha = tl.math.exp2(m - m_new)
        l = l * alpha + tl.sum(p, 1)
        acc = acc * alpha[:, None]
        v = dv.load([base + start, 0])
        acc = tl.dot(p.to(v.dtype), v, acc)
        m = m_new
    m += tl.math.log2(l)
    acc = acc / l[:, None]
    tl.store(M + zh * N + rows, m)
    do.store([base + start_m * BM, 0], acc.to(O.dtype.element_ty))

triton.set_allocator(lambda size, align, stream: torch.empty(size, dtype=torch.int8, device="cuda"))
R = int(sys.argv[1])
H16, BF = torch.float16, torch.bfloat16
torch.manual_seed(0)
# kind, batch, heads, kv heads, n, d, mask, dtype, BM, BN, warps, stages
CASES = [
    ("two", 2, 16, 16, 2048, 64, "causal", H16, 128, 64, 4, 3),
    ("two", 1, 16, 4, 2048, 128, "causal", BF, 128, 32, 8, 3),
    ("two", 2, 8, 8, 1024, 128, "none", H16, 64, 64, 4, 2),
    ("two", 4, 8, 2, 2048, 64, "none", BF, 128, 128, 8, 2),
    ("two", 1, 8, 8, 4096, 64, "window:512", H16, 64, 64, 4, 3),
    ("two", 1, 32, 8, 1024, 256, "causal", BF, 64, 32, 4, 2),
    ("two", 3, 8, 8, 1536, 32, "causal", H16, 128, 64, 4, 4),
    ("desc", 2, 16, 16, 2048, 128, "none", H16, 128, 64, 8, 3),
    ("desc", 2, 16, 16, 2048, 64, "causal", BF, 128, 128, 8, 2),
    ("desc", 1, 16, 16, 1024, 128, "causal", H16, 64, 64, 4, 2),
    ("rows", 2, 16, 4, 2048, 128, "causal", H16, 64, 64, 4, 3),
    ("rows", 1, 12, 12, 3072, 64, "none", BF, 128, 32, 4, 4),
]
for kind, b, h, hk, n, d, mask, dt, bm, bn, w, st in CASES:
    try:
        q, k, v = (torch.randn(b, count, n, d, device="cuda", dtype=dt) for count in (h, hk, hk))
        if kind == "rows":  # (batch, length, heads, dim)
            q, k, v = (x.transpose(1, 2).contiguous().transpose(1, 2) for x in (q, k, v))
        o = torch.empty_like(q); M = torch.empty(b, h, n, device="cuda")
        win = int(mask.split(":")[1]) if mask.startswith("window") else 0
        torch.cuda.nvtx.range_push(f"batch={b} heads_q={h} heads_kv={hk} q_len={n} kv_len={n} head_dim={d} mask={mask} "
                                   f"dtype={'bf16' if dt == BF else 'fp16'}")
        for _ in range(R):
            if kind in ("two", "rows"):
                attn_two_loops[(n // bm, b * h)](q, k, v, o, M, 1 / math.sqrt(d), *q.stride()[:3], *k.stride()[:3],
                                                 h, hk, n, d, bm, bn, mask != "none", win, num_warps=w, num_stages=st)
            else:
                attn_descriptors[(n // bm, b * h)](q, k, v, o, M, 1 / math.sqrt(d), b, h, n, d, bm, bn,
                                                   mask == "causal", num_warps=w, num_stages=st)
        torch.cuda.nvtx.range_pop()
        torch.cuda.synchronize()
        kk, vv = (x.repeat_interleave(h // hk, 1) for x in (k, v))
        s = (q.float() @ kk.float().transpose(2, 3)) / math.sqrt(d)
        if mask != "none":
            i = torch.arange(n, device="cuda"); ok = i[:, None] >= i[None, :]
            if win: ok &= i[:, None] - i[None, :] < win
            s.masked_fill_(~ok, -float("inf"))
        err = (o.float() - torch.softmax(s, -1) @ vv.float()).abs().max().item()
        print(kind, b, h, hk, n, d, mask, bm, bn, w, st, "error %.4f" % err, flush=True)
    except Exception as e:
        print(kind, n, d, mask, bm, bn, "FAILED", str(e)[:200], flush=True)
