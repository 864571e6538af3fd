// What memory and the L2 take for a launch with an empty L2.
#pragma once

#include <algorithm>

#include "predict/l2/launch_counts.h"

namespace tilescope {

struct MemoryTime {
  double hbm = 0, l2 = 0;  // s; < 0: the profile lacks the rate
  double last_level = 0;   // the same of the last-level cache; 0: there is none

  double slowest() const { return std::max({0.0, hbm, last_level, l2}); }
  // The same where this part of the bytes has left the caches since the run before.
  double run_after_run(double gone) const { return std::max({0.0, gone * std::max(hbm, last_level), l2}); }
};
MemoryTime memory_time(const BoundIsland& bound, const LaunchCounts& counts);

}  // namespace tilescope
