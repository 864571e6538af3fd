// SMs that read a tile at about the same time: the L2 serves those of a group together.
#pragma once

#include <optional>

#include "predict/point/bound_island.h"

namespace tilescope {

// Of the reads of a streamed array, the part that leaves the L2, from when each of the first blocks starts and at which
// tile. `at_work`: blocks at once; `groups`: of SMs. Empty where blocks stream the array by more than one loop.
std::optional<double> part_that_leaves(const BoundIsland& bound, ArrayId id, std::int64_t at_work, std::size_t groups);

}  // namespace tilescope
