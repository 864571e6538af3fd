// Attention in double precision on the CPU: what every kernel is compared with. Knows nothing of CUDA.
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
};

// o, l and what an error bound needs. A row that sees no key has o = 0, l = -inf and zeros elsewhere.
struct OracleResult {
  std::vector<double> o;       // [batch, heads_q, q_len, d_v]
  std::vector<double> weight;  // like o: sum over keys of P |V|, the size of what was added up
  std::vector<double> l;       // [batch, heads_q, q_len]
  std::vector<double> score;   // like l: largest |S| of a visible key
  std::vector<double> dot;     // like l: largest scale * sum |Q| |K| of a visible key, what rounding in S grows with
  double value_max = 0;        // largest |V|
};

// `threads` 0: one a hardware thread.
OracleResult attention_oracle(const OracleInput& input, unsigned threads = 0);

}  // namespace tilescope::kernels
