// Products of threads: what a block waits for in the rounds in which it stages their operands.
#pragma once

#include "predict/sm/step_time.h"

namespace tilescope {

// By Inputs: of `out`'s island of this number, whose traffic is there. Who asks for a line that another block has asked
// memory for waits as long as that block. What an earlier island wrote is in one partition of the L2, so a block's
// warps wait for the other's; of inputs both partitions have had copies since somebody read them. `gone`: in a sequence
// of islands the blocks that end last find nothing of what earlier ones wrote.
std::array<RoundWaits, 3> round_waits(const BoundIsland& bound, const Prediction& out, bool gone);

}  // namespace tilescope
