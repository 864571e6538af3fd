// What host and device share of the split-KV kernels: `partial` computes one part of the keys, `combine` merges the
// parts.
#pragma once

#include <cstdint>
#include <vector>

#include "common/divisor.h"
#include "kernel_api.h"

namespace tilescope::kernels::split_kv {

// Rows of a KV head: its query heads x q_len, which lie together in Q, O and L.
struct PartialParams {
  const void *q, *k, *v, *k_scales, *v_scales;
  const std::int32_t* block_table;  // null: K and V are contiguous
  float *o_part, *l_part;           // [splits, batch, heads_kv, rows, d] and without d
  int rows, q_len, kv_len, heads_kv, causal;
  int tiles, part_tiles;       // KV tiles in all, and of a part (the last parts may have fewer, or none)
  int page_tiles, page_pitch;  // KV tiles a page, pages a sequence
  Divisor row_tiles;           // tiles that the rows of a KV head fill
  Divisor queries;             // q_len
  Divisor table_tiles;         // page_tiles
  float scale_log2;            // scale * log2(e), times the descale of K: the softmax uses exp2
  float v_descale;
};

struct CombineParams {
  const float *o_part, *l_part;
  void* o;
  float* l;  // may be null
  std::int64_t rows;
  int splits;
};

constexpr int narrow_rows = 8;    // tile_q of narrow.cuh, which loads Q straight into registers
constexpr int max_splits = 1024;  // the weights of a row's parts are kept in shared memory
constexpr int combine_warps = 4;
constexpr int combine_columns = 128;  // of O, a block of `combine`
constexpr int few_splits = 4;         // largest number of parts for combine_few

// Bytes of a key in K (or in V), without its scales.
constexpr int row_bytes(Dtype format, int head_dim) { return head_dim * bits(format) / 8; }
// Bytes of a key's fp16 scales.
constexpr int scale_row_bytes(Dtype format, int head_dim) {
  return scale_group(format) == 0 ? 0 : head_dim / scale_group(format) * 2;
}
constexpr int stage_bytes(Dtype format, int head_dim, int tile_kv) {
  return 2 * tile_kv * (row_bytes(format, head_dim) + scale_row_bytes(format, head_dim));
}
constexpr int smem_bytes(Dtype format, int head_dim, int tile_q, int tile_kv, int stages) {
  return (tile_q == narrow_rows ? 0 : tile_q * head_dim * 2) + stages * stage_bytes(format, head_dim, tile_kv);
}

struct Instance {
  Variant variant;                // not paged; the same function reads pages when a block table is given
  const void* partial = nullptr;  // the __global__ functions
  const void *combine = nullptr, *combine_few = nullptr;
};

const std::vector<Instance>& instances();

// Defined by instances/*.cu, one file a format of K and V.
std::vector<Instance> kv_fp16();
std::vector<Instance> kv_bf16();
std::vector<Instance> kv_fp8();
std::vector<Instance> kv_int8();
std::vector<Instance> kv_int4();

}  // namespace tilescope::kernels::split_kv
