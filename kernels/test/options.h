#pragma once

#include <cstdint>

namespace tilescope::kernels {

struct TestOptions {
  bool quick = false;
  std::uint64_t seed = 0;
};
TestOptions& test_options();

}  // namespace tilescope::kernels
