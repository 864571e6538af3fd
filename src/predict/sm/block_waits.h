// Blocks without products: what one waits for between its start and its end, and what all of them ask of memory.
#pragma once

#include "predict/point/bound_island.h"
#include "predict/sm/rates.h"

namespace tilescope {

// Clocks in which a block that is alone on its unit does nothing but wait, by what the descriptor says of loads,
// shuffles and barriers. `alone`: the island runs with an empty L2; `again`: in a sequence of islands, where what an
// earlier one has written, or what stays in the L2 from run to run, is there. Both 0: the descriptor does not say.
struct BlockWaits {
  double alone = 0, again = 0;
};
BlockWaits block_waits(const BoundIsland& bound, const IslandPrediction& island, const SmRates& rates);

// Lines in the fullest of `slices` that share `lines` lines by a hash: the mean over hashes, lines taken to fall
// independently of each other.
double lines_of_fullest_slice(double lines, std::int64_t slices);

}  // namespace tilescope
