// The least traffic of a problem as a sum of powers of the memory it may use,
//   H*(M) = sum_t alpha_t * M^-beta_t,   beta_t >= 0                (Napkin, arXiv 2412.03317, section 3.3)
// beta = 1/2 is square tiling (a matmul), beta = 1 is one operand sent to every group (attention), beta = 0 is
// compulsory. The unit is values or bytes, chosen by the caller; `in_bytes` converts values to bytes.
#pragma once

#include <optional>
#include <span>
#include <vector>

namespace tilescope {

struct PowerTerm {
  double alpha = 0;
  double beta = 0;
};

using PowerLaw = std::vector<PowerTerm>;

// H*(memory). memory > 0, infinity allowed: only the terms with beta = 0 are left.
double evaluate(const PowerLaw& law, double memory);

// The term of one resident tile over n grouped axes: streamed operand i is reloaded once a group of axis i, so it costs
// streamed[i] / g_i (its bytes times every other trip), and the tile holds `resident` bytes a point, resident * prod
// g_i <= M. The best tile makes the n costs equal: n * (prod streamed * resident)^(1/n) * M^(-1/n). Each array enters
// with its own width: attention is n = 1 (resident Q and O, streamed K and V), a matmul n = 2.
PowerTerm resident_tile_term(std::span<const double> streamed, double resident);

// A law in values as a law in bytes when every value takes `width` bytes: alpha * width^(1 + beta) (Napkin,
// section 5.2). Where arrays differ in width the law must be built from bytes, as resident_tile_term does.
PowerLaw in_bytes(const PowerLaw& values, double width);

// The memory in [low, high] at which both laws cost the same, by bisection over log M. nullopt if the difference has
// the same sign at both ends: one law is cheaper everywhere, or the laws cross more than once.
std::optional<double> crossover(const PowerLaw& a, const PowerLaw& b, double low, double high);

}  // namespace tilescope
