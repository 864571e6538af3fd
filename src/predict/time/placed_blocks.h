// A launch's blocks on the device's SMs.
#pragma once

#include "predict/grid/placement.h"
#include "predict/sm/step_time.h"

namespace tilescope {

// In a sequence of launches, and by itself with its inputs in memory.
struct PlacedBlocks {
  Placement in_sequence, standalone;
};
PlacedBlocks placed_blocks(const LaunchAtSm& launch, const SmClocks& clocks);

}  // namespace tilescope
