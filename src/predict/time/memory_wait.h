// Blocks that stream tiles of their own from memory: they and memory wait for each other (grid/streamed_blocks.h).
#pragma once

#include "predict/sm/launch_at_sm.h"

namespace tilescope {

// The launch takes no less than `cold` s with an empty L2, and no less than `warm` s and `clocks` run after run.
struct MemoryWait {
  double cold = 0, warm = 0, clocks = 0;
  double busy = 0;  // s that an SM then holds a block, mean over the SMs, with an empty L2
};

// `gone`: the part of what is loaded that has left the L2 since the run before. All 0 where memory is not what blocks
// wait for most, or the profile lacks the ramp (`ramp_seconds` of the launch's time is 0).
MemoryWait memory_wait(const LaunchAtSm& launch, double ramp_seconds, double highest_hz, double gone);

}  // namespace tilescope
