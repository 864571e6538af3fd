// Random expressions for tests.
#pragma once

#include <cstdint>
#include <random>
#include <string>

#include "expr/expression.h"

namespace tilescope {

inline Expression random_expression(std::mt19937_64& random, int depth) {
  const auto below = [&](int bound) { return static_cast<int>(random() % static_cast<std::uint64_t>(bound)); };
  const auto part = [&] { return random_expression(random, depth - 1); };
  const int choice = depth <= 0 ? below(5) : below(18);
  if (choice < 3) return Expression::array(std::string(1, static_cast<char>('a' + below(4))));
  if (choice == 3) return Expression::number((below(13) - 6) * (below(4) == 0 ? 0.25 : 1));
  if (choice == 4) return below(2) == 0 ? Expression::index("x") : Expression::size("x");
  if (choice == 5) return -part();
  if (choice < 8) return part() + part();
  if (choice < 10) return part() - part();
  if (choice < 13) return part() * part();
  if (choice < 15) return part() / part();
  const auto function = static_cast<Function>(below(11));
  if (function == Function::pow) return Expression::pow(part(), below(7) - 3);
  if (argument_count(function) == 2) return Expression::call(function, {part(), part()});
  return Expression::call(function, {part()});
}

}  // namespace tilescope
