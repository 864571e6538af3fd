// Energy of counted bytes and operations.
#pragma once

#include "kernel/descriptor/descriptor.h"
#include "predict/l2/launch_counts.h"
#include "predict/prediction.h"

namespace tilescope {

// J of a launch beyond what the board takes while it is merely busy, added to what others take. Nothing where the
// profile lacks energies. `added_bytes`: that SMs add to memory. `from_memory`: part of the bytes at HBM that move.
void add_energy(const HardwareProfile& hardware, const IslandImplementation& how, const LaunchCounts& counts,
                double added_bytes, double from_memory, EnergyByItem& energy);

}  // namespace tilescope
