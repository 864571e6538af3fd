// What the stages of the multiprocessor take of a launch.
#pragma once

#include <array>

#include "predict/l2/memory_time.h"

namespace tilescope {

// Where a launch finds what it loads: in memory, what the L2 does not keep within the launch; or all of it in the L2,
// run after run of what that has room for.
enum class Inputs { in_memory, in_l2 };

// Waits for loads in a round of products of threads, by where the last line comes from: the L2's partition of the unit
// or the other one, memory.
struct RoundWaits {
  double near = 0, far = 0, memory = 0;
};

struct LaunchAtSm {
  const BoundIsland& bound;
  const LaunchCounts& counts;
  MemoryTime memory;
  std::array<RoundWaits, 2> round_waits{};  // by Inputs
};

}  // namespace tilescope
