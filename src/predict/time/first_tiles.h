// The start of a launch: until its first blocks have the tiles that they begin with.
#pragma once

#include "predict/l2/launch_counts.h"

namespace tilescope {

// All first blocks ask for their tiles at the same moment: s beyond a copy's own latency, with an empty L2, and where
// the L2 holds them from the run before.
struct FirstTiles {
  double cold = 0, warm = 0;
};
FirstTiles first_tiles(const BoundIsland& bound, const LaunchCounts& counts);

}  // namespace tilescope
