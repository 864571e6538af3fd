// What host and device share of the Hopper kernel.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <vector>

#include "common/divisor.h"
#include "kernel_api.h"

namespace tilescope::kernels::fused_wgmma {

struct ForwardParams {
  CUtensorMap q, k, v;  // tile maps (common/tma.h) of [batch * heads, length, head_dim]; q: boxes of 64 rows
  void* o;
  float* l;
  int q_len, kv_len;
  int causal, window;  // window > 0: the last `window` visible keys only
  int tiles, tiles_q;  // query tiles of the launch; of one head
  int claim_slot;      // index of this launch's counter of claimed tiles
  int section_heads;   // heads in a section, see work_at in work.cuh
  Divisor section_tiles, section, last_section;
  int last_section_first;  // first head of the last section
  int first_tile;          // position of the first tile: the start of the last section if that is smaller, else 0
  Divisor group;           // query heads that share one KV head
  float scale_log2;        // scale * log2(e): the softmax uses exp2
};

constexpr int max_smem_bytes = 227 * 1024;
constexpr int barrier_bytes = 256;
constexpr int claim_slots = 64;  // launches of one instance that may be in flight at once

// Shared memory of a block: the Q tile, `stages` K and V tiles of 2-byte elements, and the barriers.
constexpr int smem_bytes(int head_dim, int tile_q, int tile_kv, int stages) {
  return 2 * head_dim * (tile_q + 2 * stages * tile_kv) + barrier_bytes;
}

// One built combination.
struct Instance {
  Variant variant;
  const void* function = nullptr;  // the __global__ function
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

}  // namespace tilescope::kernels::fused_wgmma
