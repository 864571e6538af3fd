// A launch's blocks on the device's SMs.
#pragma once

#include "predict/grid/placement.h"
#include "predict/sm/step_time.h"

namespace tilescope {

Placement placed_blocks(const LaunchAtSm& launch, const SmStep& step);

// Steps of every block in issue order, see steps_in_issue_order.
const std::vector<std::int64_t>& steps_of_blocks(const LaunchAtSm& launch);

}  // namespace tilescope
