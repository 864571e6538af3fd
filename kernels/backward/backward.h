// What host and device share of the backward kernels.
#pragma once

#include <cuda.h>  // CUtensorMap, a plain struct; no driver function is linked

#include <cstddef>
#include <vector>

#include "common/divisor.h"
#include "kernel_api.h"

namespace tilescope::kernels::backward {

constexpr int consumer_groups = 2;  // warpgroups that compute; one more warpgroup loads
constexpr int threads = (consumer_groups + 1) * 128;
constexpr int group_keys = 64;  // of a tile that one of them owns
constexpr int group_rows = 64;  // likewise, queries
constexpr int pass_threads = 256;
constexpr int barrier_bytes = 128;  // of shared memory, for up to three stages

// Tensor maps are over [batch * heads][length][head_dim]; a box is 64 elements
// (128 bytes) of `tile` rows.
//
// Grid: x = key tiles of a group of `turn` KV heads, heads fastest; y = groups of heads; z = batch. Without a mask a
// group is one head. Under a causal mask the first key tiles have the most queries. Grouping several heads starts their
// longest blocks early, so that the last blocks are short. The group has as many heads as have their queries in L2.
struct MainParams {
  CUtensorMap q, k, v, d_o, d_k, d_v;
  const float *l, *d;                // [batch, heads_q, q_len]
  float* d_q;                        // fp32 sums, tile_q * head_dim a query tile
  int q_len, kv_len, group, causal;  // group: query heads that share a KV head
  Divisor turn;
  float scale, scale_log2;
};

// KV heads in a group of the grid's order: a divisor of heads_kv.
std::int64_t heads_a_turn(const Shape& shape, Mask mask);

// The query kernel of the variant without atomics.
struct QueryParams {
  CUtensorMap q, k, v, d_o, d_q;
  const float *l, *d;
  int q_len, kv_len, heads_kv, causal;
  Divisor group;
  float scale, scale_log2;
};

struct RowParams {  // preprocess
  const void *o, *d_o;
  float *d, *d_q;
  int q_len;
};

struct ConvertParams {
  const float* d_q_sum;
  void* d_q;
  int q_len;
  float scale;
};

// One built combination.
struct Instance {
  Variant variant;
  const void *preprocess = nullptr, *main = nullptr,
             *convert = nullptr;  // the __global__ functions
  int smem_bytes = 0;             // of main
};

const std::vector<Instance>& instances();

// Defined by instances/*.cu, one file a dtype.
std::vector<Instance> fp16_instances();
std::vector<Instance> bf16_instances();

}  // namespace tilescope::kernels::backward
