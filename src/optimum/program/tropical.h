// The leading terms for large memory: a geometric programme without its coefficients (tropical limit).
#pragma once

#include <optional>
#include <vector>

#include "optimum/program/rational_linear.h"

namespace tilescope {

// Tiles grow as M^exponents, traffic as M^growth.
struct Growth {
  Rational growth;
  std::vector<Rational> exponents;  // one per tile, in the relative interior of the optimal face, so that as many terms
                                    // as possible are not leading
};

// The exact linear programme: minimise growth with traffic row . exponents <= growth, memory row . exponents <= 1 and
// exponents >= 0, by trying every vertex. Every memory exponent must be >= 0 and every tile must occur in memory, which
// bounds the region. Nothing when there are more than 200,000 sets of constraints to try.
std::optional<Growth> best_growth(const std::vector<std::vector<Rational>>& traffic,
                                  const std::vector<std::vector<Rational>>& memory, std::size_t tiles);

// row . exponents
Rational dot(const std::vector<Rational>& row, const std::vector<Rational>& exponents);

}  // namespace tilescope
