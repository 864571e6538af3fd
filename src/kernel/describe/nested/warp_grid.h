// How the warps of a block share the tile of a product, from where each of them reads its operands.
#pragma once

#include "kernel/describe/attention_loop.h"

namespace tilescope {

// Warps that read the left operand at one address share rows, those that read the right one at one address share
// columns. `a`, `b`: matrix loads of the first operands. Nothing: addresses are not known, or two warps have the same
// part.
std::optional<UnitGrid> warp_grid(const CodeSummary& code, std::size_t a, std::size_t b, std::int64_t warps);

}  // namespace tilescope
