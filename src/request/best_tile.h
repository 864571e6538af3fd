// Chooses a tile for a point without one. Refuses a point that the kernel cannot run.
#pragma once

#include "search/search.h"

namespace tilescope {

// The point gets the tile, warps and stages that search ranks first. It keeps its own if no tile is feasible.
void take_best_tile(const Plan& plan, const HardwareProfile& hardware, Point& point, const SearchOptions& options = {});

// If no tile is given, the point gets the best feasible tile of a search, if there is one. Then throws InputError if
// the plan cannot run the point.
void settle_tile(const Plan& plan, const HardwareProfile& hardware, Point& point, bool given,
                 const SearchOptions& options = {});

}  // namespace tilescope
