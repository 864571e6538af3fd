// A launch's blocks on the device's SMs.
#pragma once

#include "predict/grid/placement.h"
#include "predict/sm/step_time.h"

namespace tilescope {

Placement placed_blocks(const LaunchAtSm& launch, const SmClocks& clocks);

}  // namespace tilescope
