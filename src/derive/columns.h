// The tiles that are live on chip while each primitive of an island runs (theory 4.2, P9): the columns of the
// pseudocode.
#pragma once

#include <string>
#include <vector>

#include "schedule/folds.h"

namespace tilescope {

// A tile on the chip, and how many copies of it.
struct Live {
  ArrayId array{};
  std::int64_t copies = 1;
};

struct LiveColumn {
  std::string at;  // the primitive that runs
  std::vector<Live> live;
};

// One column a primitive. Live are: tiles that are kept over the innermost stream (inputs that it does not move,
// results and running state that it accumulates); tiles that it moves, from their first to their last use in a step;
// interior tiles, from their computation to their last use. What awaits the fold over the innermost stream (an output
// gate, an activation) runs after it: its inputs are live there alone, and those of the stream no more. A map
// overwrites an input of the same shape that has no later use. `buffers`: copies of a tile that every step loads.
// Primitives must be those of the island's schedule: expand(schedule.diagram).
std::vector<LiveColumn> columns_of(const Island& island, const Primitives& primitives, std::int64_t buffers);

}  // namespace tilescope
