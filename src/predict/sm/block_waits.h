// Blocks without products: what one waits for between its start and its end, and what all of them ask of memory.
#pragma once

#include "predict/sm/launch_at_sm.h"

namespace tilescope {

// Of the warp that waits longest in a block that has its SM to itself, by the machine code; all 0: it is not known.
// Clocks of waits for loads: `cold`: the launch runs with an empty L2; `warm`: in a sequence of launches, where the L2
// holds what an earlier one has written and what stays from run to run. `in_turn`: of these, those before the last
// array's loads in which the L2 serves all blocks in turn. `own`: clocks of its instructions one after the other.
struct BlockWaits {
  double cold = 0, warm = 0, in_turn = 0;
  double own = 0;
  double shuffles = 0, barriers = 0;
};
BlockWaits block_waits(const LaunchAtSm& launch);

}  // namespace tilescope
