// Products of threads: what a block waits for in the rounds in which it stages their operands.
#pragma once

#include "predict/sm/launch_at_sm.h"

namespace tilescope {

// By Inputs. A block that asks for a line that another block has asked memory for waits as long as that block. What an
// earlier launch wrote is in one partition of the L2, so a block's warps wait for the other partition; of inputs both
// partitions hold copies since somebody read them.
std::array<RoundWaits, 2> round_waits(const BoundIsland& bound, const LaunchCounts& counts);

}  // namespace tilescope
