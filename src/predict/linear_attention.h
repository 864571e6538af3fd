// Tests only: a diagram whose second product awaits the sum of the first one.
#pragma once

namespace tilescope {

// O = Q (K^T V).
inline constexpr const char* linear_attention_diagram = R"(schema: tilescope/diagram/1
diagram: linear
summary: attention without a softmax, keys and values first
axes: {b: {size: batch}, h: {size: heads_kv}, q: {size: q_len}, x: {size: kv_len}, d: {size: d_qk}, e: {size: d_v}}
arrays:
  Q: {axes: [b, h, q, d], role: input, dtype: q}
  K: {axes: [b, h, x, d], role: input, dtype: k}
  V: {axes: [b, h, x, e], role: input, dtype: v}
  KV: {axes: [b, h, d, e], role: interior, dtype: acc}
  O: {axes: [b, h, q, e], role: output, dtype: o}
operators:
  - {name: kv, kind: contraction, inputs: [K, V], outputs: [KV]}
  - {name: nu, kind: contraction, inputs: [Q, KV], outputs: [O]}
)";

}  // namespace tilescope
