// Time of a launch at each resource: bytes and operations over its rate. A lower bound: nothing is serialised, no
// latency, no tail.
#pragma once

#include <array>

#include "predict/sm/launch_at_sm.h"

namespace tilescope {

// By Resource, at the datasheet's clocks; < 0: the profile lacks the rate.
std::array<double, resource_count> resource_seconds(const LaunchAtSm& launch);

}  // namespace tilescope
