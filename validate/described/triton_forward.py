"""A forward attention kernel in Triton, as the tutorials write it: one block has BLOCK_Q queries of a head and walks over
the keys. L gets the log-sum-exp in base 2. Query head h reads KV head h // (HEADS / HEADS_KV)."""
import triton
import triton.language as tl


@triton.jit
def fwd(Q, K, V, O, L, scale, q_batch, q_head, q_row, k_batch, k_head, k_row, HEADS, HEADS_KV, Q_LEN, KV_LEN,
        D: tl.constexpr, BLOCK_Q: tl.constexpr, BLOCK_KV: tl.constexpr, CAUSAL: tl.constexpr):
    block, entry = tl.program_id(0), tl.program_id(1)
    batch, head = entry // HEADS, entry % HEADS
    kv_head = head // (HEADS // HEADS_KV)
    rows, columns, dims = block * BLOCK_Q + tl.arange(0, BLOCK_Q), tl.arange(0, BLOCK_KV), tl.arange(0, D)
    at = batch * q_batch + head * q_head + rows[:, None] * q_row + dims[None, :]
    q = tl.load(Q + at, mask=rows[:, None] < Q_LEN, other=0.)
    m = tl.full([BLOCK_Q], -float("inf"), tl.float32)
    l = tl.zeros([BLOCK_Q], tl.float32)
    acc = tl.zeros([BLOCK_Q, D], tl.float32)
    end = KV_LEN
    if CAUSAL:
        end = tl.minimum(KV_LEN, (block + 1) * BLOCK_Q)
    for start in range(0, end, BLOCK_KV):
        keys = start + columns
        tile = batch * k_batch + kv_head * k_head
        k = tl.load(K + tile + keys[None, :] * k_row + dims[:, None], mask=keys[None, :] < KV_LEN, other=0.)
        s = tl.dot(q, k) * (scale * 1.44269504)
        s = tl.where(keys[None, :] < KV_LEN, s, -float("inf"))
        if CAUSAL:
            s = tl.where(rows[:, None] >= keys[None, :], s, -float("inf"))
        m_new = tl.maximum(m, tl.max(s, 1))
        p = tl.exp2(s - m_new[:, None])
        change = tl.exp2(m - m_new)
        l = l * change + tl.sum(p, 1)
        acc = acc * change[:, None]
        v = tl.load(V + tile + keys[:, None] * k_row + dims[None, :], mask=keys[:, None] < KV_LEN, other=0.)
        acc = tl.dot(p.to(v.dtype), v, acc)
        m = m_new
    tl.store(O + at, (acc / l[:, None]).to(O.dtype.element_ty), mask=rows[:, None] < Q_LEN)
    tl.store(L + entry * Q_LEN + rows, m + tl.log2(l), mask=rows < Q_LEN)
