// Linear equations in exact rationals, for exponents and dual weights.
#pragma once

#include <optional>
#include <vector>

#include "poly/rational.h"

namespace tilescope {

// One equation: coefficients of the unknowns, then the right-hand side.
using RationalRow = std::vector<Rational>;

struct RationalSolution {
  bool consistent = true;
  int free_unknowns = 0;         // 0: the solution is unique
  std::vector<Rational> values;  // with free unknowns at 0; empty when inconsistent
};

// Gauss-Jordan elimination. Every row has `unknowns` + 1 entries.
RationalSolution solve_exactly(std::vector<RationalRow> rows, std::size_t unknowns);

}  // namespace tilescope
