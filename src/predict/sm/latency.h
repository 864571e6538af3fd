// What the warps of a block wait for in one step, beside the units.
#pragma once

#include "predict/sm/block_waits.h"
#include "predict/sm/demand.h"

namespace tilescope {

// Clocks of a step in which a warp waits for its own results and for what it loads itself, of launches that are not
// simulated: products of threads in rounds, and blocks without products. 0: others.
// `block`: of the launch (block_waits.h).
double waits_of_step(const LaunchAtSm& launch, const BlockWaits& block, double steps, Inputs inputs);

// Of the bytes of streamed tiles that enter the units, the part that waits for memory.
double missed_part(const LaunchAtSm& launch, Inputs inputs);
// The same of what threads load to registers: of several arrays the least, since code does not tell which one a load
// reads. What an earlier launch wrote is in the L2.
double missed_loads(const LaunchAtSm& launch, Inputs inputs);

}  // namespace tilescope
