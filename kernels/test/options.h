#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/kernel_api.h"

namespace tilescope::kernels {

struct TestOptions {
  bool quick = false;
  std::string kernel;  // empty: all
  std::uint64_t seed = 0;
};
TestOptions& test_options();

// The built variants that the options leave to be run.
std::vector<Variant> tested_variants();

}  // namespace tilescope::kernels
