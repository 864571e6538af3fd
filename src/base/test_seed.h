// For tests: the seed of random input, and whether bounds of time are judged.
#pragma once

#include <cstdlib>
#include <iostream>
#include <random>
#include <string>

namespace tilescope {

// CI repeats one seed; TILESCOPE_SEED=random (or a number) tries others, and is printed.
inline unsigned test_seed() {
  static const unsigned once = [] {
    const char* wanted = std::getenv("TILESCOPE_SEED");
    if (!wanted) return 20261121U;
    const auto seed = std::string(wanted) == "random" ? static_cast<unsigned>(std::random_device{}())
                                                      : static_cast<unsigned>(std::strtoul(wanted, nullptr, 10));
    std::cerr << "TILESCOPE_SEED=" << seed << '\n';
    return seed;
  }();
  return once;
}

// Not where nothing is optimised, nor under sanitizers.
#if defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__)
inline constexpr bool times_are_judged = true;
#else
inline constexpr bool times_are_judged = false;
#endif

}  // namespace tilescope
