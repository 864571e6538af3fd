// Loops of a launch in the order in which the grid issues its blocks.
#pragma once

#include "predict/point/bound_island.h"

namespace tilescope {

// Positions in bound.nest of its loops, group loops in the order in which the grid issues blocks, outermost first.
struct IssueOrder {
  std::array<int, max_loops> loops{};
  bool as_bound = true;
};
IssueOrder issue_order(const BoundIsland& bound);

// The nest in this order.
Nest in_issue_order(const BoundIsland& bound);

}  // namespace tilescope
