// Random expressions for tests.
#pragma once

#include <cstdlib>
#include <iostream>
#include <random>
#include <string>

#include "expr/expression.h"

namespace tilescope {

// The seed of this run: TILESCOPE_SEED, or a fresh one for "random"; printed when it is not the fixed one.
inline std::uint64_t test_seed(std::uint64_t fixed = 20241205) {
  const char* given = std::getenv("TILESCOPE_SEED");
  if (given == nullptr) return fixed;
  const std::uint64_t seed =
      std::string(given) == "random" ? std::random_device{}() : std::strtoull(given, nullptr, 10);
  std::cerr << "TILESCOPE_SEED=" << seed << '\n';
  return seed;
}

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
