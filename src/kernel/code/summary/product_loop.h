// Whether a loop of a kernel has matrix products and exponentials, as the loop over keys of attention has.
#pragma once

#include <cstdint>
#include <optional>

#include "kernel/code/summary/code_summary.h"

namespace tilescope {

struct ProductLoop {
  std::uint64_t header = 0;                     // address
  std::int64_t products = 0, exponentials = 0;  // instructions of a pass, with inner loops
};

// The deepest such loop; the one with most products among equals. A loop of a plain matrix product has no exponentials;
// an activation is applied after it.
std::optional<ProductLoop> product_loop(const CodeSummary& code);

}  // namespace tilescope
