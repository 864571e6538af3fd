// What a schedule keeps in the GPU's memory.
#pragma once

#include <span>

#include "predict/point/bound_island.h"

namespace tilescope {

// Bytes of every array that a launch loads or stores: inputs, outputs, and what one launch leaves for another (scores
// and probabilities of unfused attention, partial results of a split). Arrays are whole, also where a mask skips tiles.
struct MemoryFootprint {
  std::int64_t bytes = 0, largest_bytes = 0;
  int largest = -1;  // ArrayId, -1: nothing
};
MemoryFootprint memory_footprint(std::span<const BoundIsland> launches);

}  // namespace tilescope
