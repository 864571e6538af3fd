#include "optimum/balance.h"

#include <cmath>

namespace tilescope {

std::optional<double> least_contraction(double flop_per_value, double memory_values) {
  const double left = 1 / flop_per_value - 1 / std::sqrt(memory_values);
  if (!(left > 0)) return std::nullopt;
  return 1 / (2 * left);
}

double least_memory(double flop_per_value) { return flop_per_value * flop_per_value; }

}  // namespace tilescope
