// Operations of a launch from the machine code of the built instance.
#pragma once

#include "predict/point/bound_island.h"
#include "predict/prediction.h"

namespace tilescope {

void add_code_work(const BoundIsland& bound, const InstanceCode& code, Work& work);

// Rounds of a step in which threads stage what its products sum over. Needs works_in_rounds.
double rounds_of_step(const BoundIsland& bound);

// What one warp of a block executes, of a launch without tensor cores: of each count that of the warp with most,
// outside its loops over steps and in each of InstanceCode::loops.
struct WarpCounts {
  PassCounts outside{};
  std::vector<PassCounts> loops{};
};
WarpCounts counts_of_warp(const BoundIsland& bound, const InstanceCode& code);

}  // namespace tilescope
