// A launch's blocks on the device's SMs.
#pragma once

#include <utility>
#include <vector>

#include "predict/grid/placement.h"
#include "predict/sm/step_time.h"

namespace tilescope {

// What the placements of one launch share: a faster memory changes no block's clocks.
struct PlacedBefore {
  std::vector<std::int64_t> steps;  // of all blocks, in issue order
  std::vector<std::pair<BlockClocks, Placement>> known;
};

// Steps of all blocks in issue order, worked out once a launch.
const std::vector<std::int64_t>& steps_of_blocks(const LaunchAtSm& launch);

Placement placed_blocks(const LaunchAtSm& launch, const SmClocks& clocks);

}  // namespace tilescope
