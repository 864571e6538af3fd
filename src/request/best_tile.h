// Choosing a tile for a point that names none, and refusing what a kernel cannot run.
#pragma once

#include "search/search.h"

namespace tilescope {

// Without a given tile: the best feasible one by search, when there is any. Then throws InputError if the plan cannot
// run the point.
void settle_tile(const Plan& plan, const HardwareProfile& hardware, Point& point, bool given,
                 const SearchOptions& options = {});

}  // namespace tilescope
