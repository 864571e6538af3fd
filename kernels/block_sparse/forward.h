// What host and device share of the block-sparse kernel.
#pragma once

#include <cstdint>
#include <vector>

#include "common/divisor.h"
#include "kernel_api.h"

namespace tilescope::kernels::block_sparse {

struct ForwardParams {
  const void *q, *k, *v;
  void* o;
  float* l;
  const std::uint8_t* block_mask;  // null: no block mask
  int mask_columns;                // blocks in a row of the mask
  Divisor q_tiles, kv_tiles;       // tiles along a mask block
  int q_len, kv_len, heads_kv, causal;
  int window;          // with causal: number of keys visible to a query; no_window: all keys up to its own position
  Divisor group;       // query heads that share one KV head
  std::uint32_t zero;  // always 0, but the compiler cannot know it
  float scale_log2;    // scale * log2(e): the softmax uses exp2
};

constexpr int no_window = 1 << 30;  // larger than every length; sums with lengths still fit 32 bits
constexpr int stages = 2;  // K tiles, and V tiles, in shared memory: one is in use while the next one is loaded

// The list of live tiles in shared memory: a byte a KV tile in groups of 32, and a group that ends it.
constexpr int list_bytes = 8192;
constexpr std::int64_t largest_kv_len(int tile_kv) { return std::int64_t{list_bytes - 32} * tile_kv; }

// Shared memory of a block: the Q tile (O is staged there at the end), the K and V tiles, of 2-byte elements; the list.
constexpr int smem_bytes(int head_dim, int tile_q, int tile_kv) {
  return 2 * head_dim * (tile_q + 2 * stages * tile_kv) + list_bytes;
}

// One built combination.
struct Instance {
  Variant variant;
  const void* function = nullptr;  // the __global__ function
  bool hold_q = false;             // Q fragments stay in registers over the KV loop
};

// All built combinations, in the order of the dtypes and head_dims below.
const std::vector<Instance>& instances();

// Defined by instances/*.cu, one file a dtype.
std::vector<Instance> fp16();
std::vector<Instance> bf16();

}  // namespace tilescope::kernels::block_sparse
