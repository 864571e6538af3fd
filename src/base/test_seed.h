// For tests: the seed of random input, and whether bounds of time are judged.
#pragma once

#include <cstdlib>
#include <random>
#include <string>

namespace tilescope {

// CI repeats one seed; TILESCOPE_SEED=random (or a number) tries others. Tests print it.
inline unsigned test_seed() {
  const char* wanted = std::getenv("TILESCOPE_SEED");
  if (!wanted) return 20261121;
  if (std::string(wanted) != "random") return static_cast<unsigned>(std::strtoul(wanted, nullptr, 10));
  static const unsigned once = std::random_device{}();
  return once;
}

// Not where nothing is optimised, nor under sanitizers.
#if defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__)
inline constexpr bool times_are_judged = true;
#else
inline constexpr bool times_are_judged = false;
#endif

}  // namespace tilescope
