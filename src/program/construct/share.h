// Values that several statements of a step use are computed once.
#pragma once

#include <vector>

#include "diagram/primitives.h"
#include "program/construct/place_loads.h"

namespace tilescope {

// Adds a tile for every call (an exponential) that the contributions, or the repairs, of several folds of a level have
// in common, before the first of them. It is called after the primitive that it is, if there is one. `inside`: the
// primitives of the island.
void share_expressions(Levels& levels, TileProgram& program, const Primitives& primitives,
                       const std::vector<int>& inside);

}  // namespace tilescope
