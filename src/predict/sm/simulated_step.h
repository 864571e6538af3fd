// Clocks of a step from the kernel's machine code on a simulated SM.
#pragma once

#include "predict/sm/launch_at_sm.h"

namespace tilescope {

// Whether the engine that the point asks for, or that is better on the kernel's records, executes its machine code.
bool simulates(const BoundIsland& bound);

// Clocks of the mean step of each of `resident` blocks: masked tiles among them, and copies from L2 and memory.
double simulated_step(const LaunchAtSm& launch, std::int64_t resident, Inputs inputs);

// Clocks of a block by itself, 0 where its ends are not in the code: before it asks for its first copy, after its last
// step; and all that it takes beside its steps, where threads copy: the copy engine is not simulated, 0.
struct SimulatedEnds {
  double lead = 0, trail = 0, around = 0;
};
SimulatedEnds simulated_ends(const LaunchAtSm& launch, Inputs inputs);

}  // namespace tilescope
