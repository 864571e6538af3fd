// Traffic that no schedule can beat, in values between one memory of M values and the next outer one. A bound with an
// explicit constant can be compared with a count. An order of growth cannot, and is marked as such.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tilescope {

struct LowerBound {
  double values = 0;        // never negative
  bool asymptotic = false;  // an order of growth without its constant: do not compare it with a count
  std::string name, source;
};

// A[m,k] B[k,n] -> C[m,n] with a memory of M values.
struct MatmulSize {
  double m = 0, n = 0, k = 0;
};
// 2mnk/sqrt(M) + mn (COSMA, theorem 1). For matrices large against the memory: with k below 2 sqrt(M) a strip of A with
// all of its k columns stays resident and moves mk + k^2 mn/M + mn, which is less (m = n = 8192, k = 128, M =
// 116736: 77.6 M against 117 M values).
LowerBound matmul_cosma(const MatmulSize& size, double memory);
// The strongest that holds: COSMA's where every extent is at least 2 sqrt(M), else Smith and van de Geijn's or
// compulsory.
LowerBound matmul_bound(const MatmulSize& size, double memory);
LowerBound matmul_smith_van_de_geijn(const MatmulSize& size, double memory);  // 2mnk/sqrt(M) - 2M (quoted by COSMA)
LowerBound matmul_compulsory(const MatmulSize& size);                         // mk + kn + mn

// Attention of one head.
struct HeadSize {
  double q_len = 0, kv_len = 0, d_qk = 0, d_v = 0;
};

// Every input read once and every output written once: q (d + e) + x (d + e).
LowerBound attention_compulsory(const HeadSize& size);

// M >= d^2: q x d^2 / (M + 4 d^2) - M, d = d_qk: a schedule computes every root of Q K^T, and a part of it with a
// dominator and a minimum set of 2M values holds at most (M/d)^2 + 4M of them (Saha & Ye, arXiv 2402.07443, lemmas 2.8
// and 3.3, with (I + J) d <= 2M bounding I J by a square). Zero for a smaller memory, to which the argument does not
// apply.
LowerBound attention_large_memory(const HeadSize& size, double memory);

// The order of theorem 3.1, min(q x d / sqrt M, q x d^2 / M): for M < d^2 the first, matmul-like one. No constant is
// published for it, so it is marked asymptotic.
LowerBound attention_order(const HeadSize& size, double memory);

// All of the above for one head; `strongest` is the largest one that has its constant.
std::vector<LowerBound> attention_bounds(const HeadSize& size, double memory);
LowerBound strongest(const std::vector<LowerBound>& bounds);

}  // namespace tilescope
