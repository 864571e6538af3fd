// Loops of a launch in the order in which the grid issues its blocks.
#pragma once

#include "predict/point/bound_island.h"

namespace tilescope {

// The nest with its group loops in the order in which the grid issues blocks, outermost first.
Nest in_issue_order(const BoundIsland& bound);

}  // namespace tilescope
