// The start of a launch: until its first blocks have the tiles that they begin with.
#pragma once

#include "predict/sm/launch_at_sm.h"

namespace tilescope {

// All first blocks ask for their tiles at the same moment, and a step waits for its own: s beyond a copy's own latency,
// with an empty L2, and where the L2 holds them from the run before. `step_seconds`: of a step that does not wait.
struct FirstTiles {
  double cold = 0, warm = 0;
};
FirstTiles first_tiles(const LaunchAtSm& launch, double step_seconds);

}  // namespace tilescope
