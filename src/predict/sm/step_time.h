// Clocks of one multiprocessor. Steps of kernels on tensor cores are simulated. Products of threads and blocks without
// products share units by mean-value analysis of a closed queueing network (Reiser and Lavenberg, J. ACM 27(2), 1980);
// their machine code says what a warp waits for. Else the slowest unit is the bound. Rates are microbenchmarks'
// (hardware/measured.h).
#pragma once

#include <array>

#include "predict/grid/placement.h"
#include "predict/sm/demand.h"

namespace tilescope {

struct SmStep {
  double steps = 0;  // of all blocks
  StepDemand demand = {};
  BlockClocks clocks = {};                   // a block's step, by how many blocks share the unit
  std::array<double, most_resident> work{};  // the same without waits for copies of tiles
  double waits = 0;                          // see waits_of_step
  double once = 0;                           // clocks before the first step of a launch
  double cold_extra = 0;                     // clocks more that a block takes where the L2 is empty
  double in_turn = 0;                        // see BlockWaits
  double lead = 0, trail = 0;  // clocks of a block before its first copy is asked for, and after its last step
};

// The mean step of a launch with `steps` steps in all, and what its blocks take beside them. Needs every rate
// (missing_sm_rate).
SmStep sm_step(const LaunchAtSm& launch, double steps, Inputs inputs = Inputs::in_memory);

// Steps of all blocks of the launch: the tiles that its mask leaves.
double steps_of_launch(const BoundIsland& bound);

// The same of these steps, no shorter than the L2 allows.
SmStep sm_clocks(const LaunchAtSm& launch, Inputs inputs = Inputs::in_memory);

}  // namespace tilescope
