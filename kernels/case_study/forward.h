// What host and device share of the case-study kernel.
#pragma once

#include <cuda.h>

#include <vector>

#include "common/divisor.h"
#include "kernel_api.h"

namespace tilescope::kernels::case_study {

struct ForwardParams {
  CUtensorMap q, k, v, o;  // tiles of tile_q, tile_kv, tile_kv and tile_q rows
  float* l;
  int q_len, kv_len, heads_kv, causal;
  Divisor group;     // query heads that share one KV head
  float scale_log2;  // scale * log2(e): the softmax uses exp2
};

constexpr int barrier_bytes = 64;  // three mbarriers, behind the tiles

// Shared memory of a block: the Q tile (O is staged there at the end), one K tile and one V tile of 2-byte elements.
constexpr int smem_bytes(int head_dim, int tile_q, int tile_kv) {
  return 2 * head_dim * (tile_q + 2 * tile_kv) + barrier_bytes;
}

struct Instance {
  Variant variant;
  const void* function = nullptr;  // the __global__ function
};

const std::vector<Instance>& instances();

// Defined by instances/*.cu, one file a head_dim.
std::vector<Instance> fp16_d64();
std::vector<Instance> fp16_d128();
std::vector<Instance> fp16_d256();

}  // namespace tilescope::kernels::case_study
