// Time of a launch at each resource: bytes and operations over its rate. A lower bound: nothing is serialised, no
// latency, no tail.
#pragma once

#include <array>

#include "predict/l2/memory_time.h"

namespace tilescope {

// By Resource, at the datasheet's clocks; < 0: the profile lacks the rate.
std::array<double, resource_count> resource_seconds(const BoundIsland& bound, const LaunchCounts& counts,
                                                    const MemoryTime& memory);

}  // namespace tilescope
