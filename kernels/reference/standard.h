// What host and device share of the unfused kernels.
#pragma once

#include <cstdint>
#include <vector>

#include "common/divisor.h"
#include "kernel_api.h"

namespace tilescope::kernels::reference {

struct ProductParams {
  const void* a;                               // qk: Q; pv: P
  const void* b;                               // qk: K; pv: V
  void* c;                                     // qk: S; pv: O
  int q_len, kv_len, pitch, heads_kv, causal;  // pitch: elements between rows of S and P
  Divisor group, kv_tiles;                     // query heads a KV head; KV tiles a row of S
  float scale;
};

struct Instance {
  Variant variant;
  const void *qk = nullptr, *pv = nullptr;
  const void* (*softmax)(std::int64_t pitch) = nullptr;  // nullptr result: the row is too long
  int qk_smem_bytes = 0, pv_smem_bytes = 0;
};

// qk holds one Q tile and one K tile; pv two stages of a P tile and a V tile. 2-byte elements; outputs are staged
// there.
constexpr int qk_smem_bytes(int head_dim, int tile_q, int tile_kv) { return 2 * head_dim * (tile_q + tile_kv); }
constexpr int pv_smem_bytes(int head_dim, int tile_q, int tile_kv) { return 2 * 2 * tile_kv * (tile_q + head_dim); }

std::vector<Instance> fp16_instances();
std::vector<Instance> bf16_instances();

}  // namespace tilescope::kernels::reference
