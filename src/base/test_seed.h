// For tests with random input.
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

}  // namespace tilescope
