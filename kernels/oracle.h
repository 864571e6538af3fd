// Attention in double precision on the CPU, the reference for every kernel. Uses no CUDA.
#pragma once

#include <vector>

#include "kernel_api.h"

namespace tilescope::kernels {

// Arrays as in kernel_api.h, values exactly as the kernel sees them (already rounded to its dtype).
struct OracleInput {
  Shape shape;
  Mask mask = Mask::none;
  double scale = 1.0;
  const float *q = nullptr, *k = nullptr, *v = nullptr;
  std::int64_t window = 0;                   // as in Problem
  const std::uint8_t* block_mask = nullptr;  // on the host
  std::int64_t block_q = 0, block_kv = 0;

  bool sees(std::int64_t query, std::int64_t key) const;
};

// o, l and what an error bound needs. A row that sees no key has o = 0, l = -inf and zeros elsewhere.
struct OracleResult {
  std::vector<double> o;       // [batch, heads_q, q_len, d_v]
  std::vector<double> weight;  // like o: sum over keys of P |V|, the magnitude of the added terms
  std::vector<double> l;       // [batch, heads_q, q_len]
  std::vector<double> score;   // like l: largest |S| of a visible key
  std::vector<double>
      dot;  // like l: largest scale * sum |Q| |K| of a visible key; the rounding error of S is proportional to it
  double value_max = 0;  // largest |V|
};

// `threads`: 0 uses one per hardware thread.
OracleResult attention_oracle(const OracleInput& input, unsigned threads = 0);

// The gradients of sum(O * dO). D of a row is sum(O * dO); dS = P * (dP - D) is the gradient of the scaled scores.
// `*_size`: the sum of the absolute values of the added terms: sum P |dO| for dV, scale * sum P |dP - D| |Q| for dK,
// and the same with |K| for dQ. A relative error e of P or dS changes the gradient by at most e times it. `*_slip`:
// scale * sum P (|dO| |V| + |dO| |O|) |Q| (dQ: |K|). A relative error e of the terms of dP and D changes the gradient
// by at most e times it.
struct BackwardOracle {
  std::vector<double> d_q, d_q_size, d_q_slip;  // [batch, heads_q, q_len, d_qk]
  std::vector<double> d_k, d_k_size, d_k_slip;  // [batch, heads_kv, kv_len, d_qk]
  std::vector<double> d_v, d_v_size;            // [batch, heads_kv, kv_len, d_v]
  std::vector<double> o, l;                     // of the forward pass: the kernel's inputs, before rounding
  double dot = 0;                               // largest scale * sum |Q| |K| of a visible key
};

BackwardOracle backward_oracle(const OracleInput& input, const float* d_o, unsigned threads = 0);

}  // namespace tilescope::kernels
