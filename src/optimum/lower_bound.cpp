#include "optimum/lower_bound.h"

#include <algorithm>
#include <cmath>

namespace tilescope {
namespace {

constexpr const char* saha_ye = "Saha & Ye, arXiv 2402.07443";
constexpr const char* cosma = "COSMA, arXiv 1908.09606";

LowerBound exact(double values, std::string name, std::string source) {
  return {std::max(values, 0.0), false, std::move(name), std::move(source)};
}

}  // namespace

LowerBound matmul_cosma(const MatmulSize& size, double memory) {
  return exact(2 * size.m * size.n * size.k / std::sqrt(memory) + size.m * size.n, "matmul",
               std::string(cosma) + ", theorem 1");
}

LowerBound matmul_smith_van_de_geijn(const MatmulSize& size, double memory) {
  return exact(2 * size.m * size.n * size.k / std::sqrt(memory) - 2 * memory, "matmul",
               std::string("Smith & van de Geijn, quoted by ") + cosma);
}

LowerBound matmul_bound(const MatmulSize& size, double memory) {
  const bool large = std::min({size.m, size.n, size.k}) >= 2 * std::sqrt(memory);
  return large ? matmul_cosma(size, memory)
               : strongest({matmul_smith_van_de_geijn(size, memory), matmul_compulsory(size)});
}

LowerBound matmul_compulsory(const MatmulSize& size) {
  return exact(size.m * size.k + size.k * size.n + size.m * size.n, "compulsory", "inputs once, outputs once");
}

LowerBound attention_compulsory(const HeadSize& size) {
  return exact((size.q_len + size.kv_len) * (size.d_qk + size.d_v), "compulsory", "inputs once, outputs once");
}

LowerBound attention_large_memory(const HeadSize& size, double memory) {
  const double square = size.d_qk * size.d_qk;
  const double values = memory < square ? 0 : size.q_len * size.kv_len * square / (memory + 4 * square) - memory;
  return exact(values, "attention, M >= d^2", std::string(saha_ye) + ", lemmas 2.8 and 3.3");
}

LowerBound attention_order(const HeadSize& size, double memory) {
  const double pairs = size.q_len * size.kv_len;
  const double values = std::min(pairs * size.d_qk / std::sqrt(memory), pairs * size.d_qk * size.d_qk / memory);
  return {values, true, "attention, order", std::string(saha_ye) + ", theorem 3.1"};
}

std::vector<LowerBound> attention_bounds(const HeadSize& size, double memory) {
  return {attention_compulsory(size), attention_large_memory(size, memory), attention_order(size, memory)};
}

LowerBound strongest(const std::vector<LowerBound>& bounds) {
  LowerBound best;
  for (const LowerBound& bound : bounds)
    if (!bound.asymptotic && bound.values >= best.values) best = bound;
  return best;
}

}  // namespace tilescope
