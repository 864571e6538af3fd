// What one step of a block asks of a multiprocessor's units.
#pragma once

#include <algorithm>
#include <array>

#include "predict/point/products.h"
#include "predict/sm/launch_at_sm.h"

namespace tilescope {

// What one step of a block keeps busy, in clocks of the unit, were each alone and at full rate.
struct StepDemand {
  double tensor = 0;   // matrix instructions
  double smem = 0;     // operands and fills; wavefronts, where threads multiply
  double xu = 0;       // special functions
  double fma = 0;      // fp32 arithmetic
  double alu = 0;      // maxima, conversions, addresses, loops
  double issue = 0;    // warp instructions that a scheduler issues for all that
  double memory = 0;   // the unit's share of bytes from memory or L2
  double leaving = 0;  // what threads store, add to memory and spill, one after the other on its way to the L2
  std::array<double*, 8> all() { return {&tensor, &smem, &xu, &fma, &alu, &issue, &memory, &leaving}; }
  double of_schedulers() const { return std::max({issue, xu, fma, alu}); }
};

// Bytes of results that threads of all blocks store: in the steps themselves, as a stream moves their tiles; of these
// what they add to what is there; after the steps.
enum class StoredBytes { in_steps, added_in_steps, after_steps };
double stored_bytes(const BoundIsland& bound, StoredBytes which);

// Mean of the island's `steps` steps, clocks of each unit.
StepDemand demand_of(const LaunchAtSm& launch, double steps);

}  // namespace tilescope
