// What the warps of a block wait for in one step, beside the units.
#pragma once

#include "predict/sm/demand.h"

namespace tilescope {

// What a warp waits for in every step whatever else happens: the end of each product, a row's shuffles, the chain to
// its first exponential, barriers, spilled registers. Clocks.
struct StepLatency {
  double matrix = 0, special = 0, alu = 0, barrier = 0, local = 0;
  double stores = 0;      // of `barrier`: until results stored in the step have left, which its copies queue behind
  double statistics = 0;  // from the start of a step until what its threads load of rows' statistics is there
};

StepLatency latency_of(const LaunchAtSm& launch, const SmRates& rates, double steps, Inputs inputs,
                       const Faster& faster);

// Of the bytes that enter the units, the part that memory brings.
double missed_part(const LaunchAtSm& launch, Inputs inputs);

}  // namespace tilescope
