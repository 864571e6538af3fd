// What the warps of a block wait for in one step, beside the units.
#pragma once

#include "predict/sm/demand.h"

namespace tilescope {

// Clocks that a warp waits in every step whatever else happens: for the results of its own chain of operations, and for
// what it loads itself. `matrix`, `special` and `alu` run under that phase of other warps of its block.
struct StepLatency {
  double matrix = 0, special = 0, alu = 0, between = 0;
};

StepLatency latency_of(const LaunchAtSm& launch, double steps, Inputs inputs);

// Of the bytes of streamed tiles that enter the units, the part that waits for memory.
double missed_part(const LaunchAtSm& launch, Inputs inputs);
// The same of what threads load to registers: of several arrays the least, since code does not tell which one a load
// reads. What an earlier launch wrote is in the L2.
double missed_loads(const LaunchAtSm& launch, Inputs inputs);

}  // namespace tilescope
