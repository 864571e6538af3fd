// Time between launches, in which no block runs.
#pragma once

#include "hardware/profile.h"
#include "kernel/descriptor/descriptor.h"

namespace tilescope {

// s of the start of a launch's first block: measured with the launch, counted with the block, as every block's.
double first_block_start(const HardwareProfile& hardware);

// s until a launch's first block starts, after the launch ahead of it has ended. `gone`: the part of what goes through
// the L2 that does not stay there from run to run; of what the launch itself needs as much comes from memory.
double launch_seconds(const HardwareProfile& hardware, const IslandImplementation& how, double gone);

// s that two events around the first launch of a run alone show beyond the time in which it has blocks.
double alone_seconds(const HardwareProfile& hardware, const IslandImplementation& how);

// s that a host takes to launch that many kernels; 0: not known.
double host_seconds(const HardwareProfile& hardware, std::size_t launches);

}  // namespace tilescope
