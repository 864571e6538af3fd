// What host and device share of the plain fp32 kernels.
#pragma once

#include <cstdint>

#include "common/divisor.h"

namespace tilescope::kernels::reference_fp32 {

constexpr int tile_q = 64, tile_kv = 64, warps = 8, max_head_dim = 256;

struct ProductParams {
  const float* a;                                        // qk: Q; pv: P
  const float* b;                                        // qk: K; pv: V
  float* c;                                              // qk: S; pv: O
  int q_len, kv_len, pitch, head_dim, heads_kv, causal;  // pitch: elements between rows of S and P
  Divisor group, kv_tiles;                               // query heads a KV head; KV tiles a row of S
  float scale;
};

const void* qk_function();
const void* pv_function(std::int64_t head_dim);
const void* softmax_function(std::int64_t pitch);

}  // namespace tilescope::kernels::reference_fp32
