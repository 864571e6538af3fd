// Clocks of one multiprocessor. What a block's step asks of each unit follows from the counts and the descriptor; how
// steps of several warpgroups and blocks overlap follows from mean-value analysis of a closed queueing network: every
// group that goes at its own pace is a customer that visits the matrix path, the special-function, the fp32 and the
// integer pipe in turn (Reiser and Lavenberg, J. ACM 27(2), 1980). Rates are microbenchmarks' (hardware/measured.h).
#pragma once

#include <array>

#include "predict/grid/placement.h"
#include "predict/sm/demand.h"

namespace tilescope {

struct SmStep {
  double steps = 0;  // of all blocks
  StepDemand demand = {};
  BlockClocks clocks = {};                   // a block's step, by how many blocks share the unit
  std::array<double, most_resident> work{};  // the same where it never waits for a tile's copy
  double latency = 0;                        // clocks of a step in which a block that is alone on the unit does nothing
  double once = 0;                           // clocks before the first step of a launch
  double cold_extra = 0;                     // clocks more that a block takes where the L2 is empty
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
