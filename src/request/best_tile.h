// Chooses a tile for a point without one. Refuses a point that the kernel cannot run.
#pragma once

#include "search/search.h"

namespace tilescope {

// The point gets the tile, warps and stages that search ranks first among those that have what `options` fix. Where
// none is feasible, a kernel's point gets the first built one, any other keeps its own.
void take_best_tile(const Plan& plan, const HardwareProfile& hardware, Point& point, const SearchOptions& options = {});

// Chooses by search what the options leave open: the whole tile, or of a kernel the variant that has the given sizes.
// Then throws InputError if the plan cannot run the point.
void settle_tile(const Plan& plan, const HardwareProfile& hardware, Point& point, bool given,
                 const SearchOptions& options = {});

// Throws InputError if the plan cannot run the point.
void refuse_unsupported(const Plan& plan, const HardwareProfile& hardware, const Point& point);

}  // namespace tilescope
