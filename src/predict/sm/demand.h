// What one step of a block asks of a multiprocessor's units.
#pragma once

#include <array>

#include "predict/point/products.h"
#include "predict/sm/launch_at_sm.h"

namespace tilescope {

// What one step of a block keeps busy, in clocks of the unit, were each alone and at full rate.
struct StepDemand {
  double tensor = 0;      // matrix instructions
  double smem = 0;        // operands and fills; wavefronts, where threads multiply
  double xu = 0;          // special functions
  double fma_scores = 0;  // fp32 arithmetic by scores and rows, which runs under the special functions of the same warp
  double fma_outputs = 0;  // the same by elements of results
  double alu = 0;          // maxima and conversions
  double threads = 0;      // addresses, loops: of each thread, beside its products
  double issue = 0;        // warp instructions that a scheduler issues for all that
  double memory = 0;       // the unit's share of bytes from memory or L2
  double leaving = 0;      // what threads store, add to memory and spill, one after the other on its way to the L2
  std::array<double*, 10> all() {
    return {&tensor, &smem, &xu, &fma_scores, &fma_outputs, &alu, &threads, &issue, &memory, &leaving};
  }
};

// Rounds of a step in which threads stage what its products sum over.
double rounds_of(const BoundIsland& bound);

// Bytes of results that threads store in the steps themselves, as a stream moves their tiles; `added`: only those that
// they add to what is there.
double stored_in_steps(const BoundIsland& bound, bool added);

// Mean of the island's `steps` steps, clocks of each unit.
StepDemand demand_of(const LaunchAtSm& launch, double steps);

}  // namespace tilescope
