// What a schedule keeps in the GPU's memory.
#pragma once

#include <span>

#include "predict/point/footprint.h"

namespace tilescope {

// Bytes of every array that a launch loads or stores: inputs, outputs, and what one launch leaves for another (scores
// and probabilities of unfused attention, partial results of a split). Arrays are whole, also where a mask skips tiles.
Allocations memory_footprint(std::span<const BoundIsland> launches);

}  // namespace tilescope
