// What host and device share of the fused kernel.
#pragma once

#include <cstdint>
#include <vector>

#include "common/divisor.h"
#include "kernel_api.h"

namespace tilescope::kernels::fused_mma {

struct ForwardParams {
  const void *q, *k, *v;
  void* o;
  float* l;
  int q_len, kv_len, heads_kv, causal;
  Divisor group;       // query heads that share one KV head
  std::uint32_t zero;  // always 0, but the compiler cannot know it
  float scale_log2;    // scale * log2(e): the softmax uses exp2
};

constexpr int stages = 2;  // K tiles, and V tiles, in shared memory: one is in use while the next one is loaded

// Shared memory of a block: the Q tile (O is staged there at the end) and the K and V tiles, of 2-byte elements.
constexpr int smem_bytes(int head_dim, int tile_q, int tile_kv) {
  return 2 * head_dim * (tile_q + 2 * stages * tile_kv);
}

// One built combination and what the descriptor says about it.
struct Instance {
  Variant variant;
  const void* function = nullptr;  // the __global__ function
  bool hold_q = false;  // Q fragments stay in registers over the KV loop; otherwise ldmatrix re-reads them every step
};

// All built combinations, in the order of the dtypes and head_dims below.
const std::vector<Instance>& instances();

// Defined by instances/*.cu, one file a dtype and head_dim.
std::vector<Instance> fp16_d64();
std::vector<Instance> fp16_d128();
std::vector<Instance> fp16_d256();
std::vector<Instance> bf16_d64();
std::vector<Instance> bf16_d128();
std::vector<Instance> bf16_d256();

}  // namespace tilescope::kernels::fused_mma
