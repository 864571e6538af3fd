// Operations of an assumed implementation, from what its program computes.
#pragma once

#include "predict/point/bound_island.h"
#include "predict/prediction.h"

namespace tilescope {

// Adds them to `pipes` and `of_outputs`. Throws CountOverflow.
void add_assumed_work(const BoundIsland& bound, Work& work);

}  // namespace tilescope
