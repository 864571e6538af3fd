// Choosing a tile for a point that names none, and refusing what a kernel cannot run.
#pragma once

#include "search/search.h"

namespace tilescope {

// The point gets the tile, warps and stages that search ranks first; it keeps its own where no tile is feasible.
void take_best_tile(const Plan& plan, const HardwareProfile& hardware, Point& point, const SearchOptions& options = {});

// Without a given tile: the best feasible one by search, when there is any. Then throws InputError if the plan cannot
// run the point.
void settle_tile(const Plan& plan, const HardwareProfile& hardware, Point& point, bool given,
                 const SearchOptions& options = {});

}  // namespace tilescope
