// The best of a kernel's nests, each with its best tiles.
#pragma once

#include "derive/derivation.h"

namespace tilescope {

inline constexpr double tile_gap = 1e-6;  // relative, of best tiles

// The nest of a kernel with the least traffic at this memory; `found` is false if none fits, or if none moves less than
// `wanted`.
RankedKernel best_nest(const Primitives& primitives, const FusedKernel& kernel, const Nests& nests,
                       const DeriveRequest& request, double wanted = std::numeric_limits<double>::infinity());

}  // namespace tilescope
