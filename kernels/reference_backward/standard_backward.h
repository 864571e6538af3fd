// What host and device share of the unfused backward pass in fp32.
#pragma once

#include <cstdint>

#include "common/divisor.h"

namespace tilescope::kernels::reference_backward {

constexpr int tile_q = 64, tile_kv = 64, warps = 8, max_head_dim = 256;
constexpr int delta_rows = warps;  // rows of D a block: one a warp

struct DeltaParams {  // D = rowsum(O dO)
  const float *o, *d_o;
  float* d;
  std::int64_t rows;
  int head_dim;
};

// C = A B^T of one tile of scores, and what the epilogue makes of it.
//   probabilities: A = Q, B = K, C = exp(scale A B^T - L), zero where the mask hides the pair
//   score_gradient: A = dO, B = V, C = scale P (A B^T - D), with P read from where probabilities left it
struct ScoreParams {
  const float *a, *b, *p, *row;  // row: L or D
  float* c;
  int q_len, kv_len, pitch, head_dim, heads_kv, causal;
  Divisor group, kv_tiles;  // query heads a KV head; KV tiles a row of scores
  float scale;
};

// C = W B for the rows of dQ (W = dS, B = K), or W^T B for those of dK (dS, Q) and dV (P, dO), where all query heads of
// a KV head are added up.
struct GradientParams {
  const float *w, *b;
  float* c;
  int q_len, kv_len, pitch, head_dim, heads_kv, group;
};

const void* delta_function();
const void* probabilities_function();
const void* score_gradient_function();
const void* query_gradient_function(std::int64_t head_dim);
const void* key_gradient_function(std::int64_t head_dim);

}  // namespace tilescope::kernels::reference_backward
