// Blocks without products: what one waits for between its start and its end, and what all of them ask of memory.
#pragma once

#include "predict/sm/launch_at_sm.h"

namespace tilescope {

// Clocks in which a block that has its SM to itself only waits, by what the descriptor says of loads, shuffles and
// barriers. `cold`: the launch runs with an empty L2; `warm`: in a sequence of launches, where the L2 holds what an
// earlier one has written and what stays from run to run. Both 0: the descriptor does not say. `in_turn`: of these,
// those before the last array's loads in which the L2 serves all blocks in turn.
struct BlockWaits {
  double cold = 0, warm = 0, in_turn = 0;
};
BlockWaits block_waits(const LaunchAtSm& launch);

}  // namespace tilescope
