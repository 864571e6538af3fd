// What host and device share of the kernel in FlashAttention-1's loop order.
#pragma once

#include <cstdint>
#include <vector>

#include "common/divisor.h"
#include "kernel_api.h"

namespace tilescope::kernels::flash1 {

struct ForwardParams {
  const void *q, *k, *v;
  void* o;
  // [batch, heads_q, q_len]. m: maximum of scale * log2(e) * S so far; l: sum of 2^(scale * log2(e) * S - m).
  float *m, *l;
  int q_len, kv_len, heads_kv, causal;
  Divisor group;       // query heads that share one KV head
  std::uint32_t zero;  // always 0, but the compiler cannot know it
  float scale_log2;    // scale * log2(e): the softmax uses exp2
};

constexpr int q_stages = 2;  // Q tiles in shared memory: one is in use while the next one is loaded

// Shared memory of a block: a K and a V tile, which are kept while all queries are streamed, the Q tiles, and one tile
// that stages O in both directions. Elements have 2 bytes.
constexpr int smem_bytes(int head_dim, int tile_q, int tile_kv) {
  return 2 * head_dim * (2 * tile_kv + (q_stages + 1) * tile_q);
}

// One built combination.
struct Instance {
  Variant variant;
  const void* function = nullptr;  // the __global__ function
};

// All built combinations, in the order of the dtypes below.
const std::vector<Instance>& instances();

// Defined by instances/*.cu, one file a dtype.
std::vector<Instance> fp16();
std::vector<Instance> bf16();

}  // namespace tilescope::kernels::flash1
