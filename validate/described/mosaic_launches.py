"""Launches Pallas attention (Mosaic GPU) of known sizes. The sizes, in the order of the launches, go to the file named."""
import json
import sys

import jax
import jax.numpy as jnp
from jax.experimental.pallas.ops.gpu import attention_mgpu

h = jnp.float16
sizes = []
for B, H, HK, M, N, D, block_q, block_kv, steps, causal in (
        (2, 8, 8, 1024, 1024, 64, 64, 64, 2, False), (2, 16, 4, 2048, 2048, 128, 64, 128, 2, False),
        (3, 6, 6, 1536, 768, 64, 128, 64, 3, False), (1, 16, 16, 2048, 2048, 128, 64, 64, 4, True),
        (2, 8, 2, 1024, 2048, 64, 64, 128, 3, False)):
    q, k, v = (jax.random.normal(jax.random.key(i), (B, length, heads, D), h)
               for i, (length, heads) in enumerate(((M, H), (N, HK), (N, HK))))
    config = attention_mgpu.TuningConfig(block_q=block_q, block_kv=block_kv, max_concurrent_steps=steps, causal=causal)
    attention = jax.jit(lambda q, k, v: attention_mgpu.attention(q, k, v, config))
    for _ in range(3):
        out = attention(q, k, v)
    out.block_until_ready()
    sizes.append(dict(batch=B, heads_q=H, heads_kv=HK, q_len=M, kv_len=N, mask="causal" if causal else "none", head_dim=D))
json.dump(sizes, open(sys.argv[1], "w"))
