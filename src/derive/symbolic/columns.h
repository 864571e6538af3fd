// The tiles that are live on chip while each primitive of an island runs. They are the columns of the pseudocode.
#pragma once

#include <string>
#include <vector>

#include "schedule/folds.h"

namespace tilescope {

// A tile on the chip, and its number of copies.
struct Live {
  ArrayId array{};
  std::int64_t copies = 1;
};

struct LiveColumn {
  std::string at;  // the primitive that runs
  std::vector<Live> live;
};

// Returns one column per primitive. These tiles are live:
// - tiles kept over the innermost stream: inputs that it does not move, results and running state that it accumulates;
// - tiles that it moves, from their first to their last use in a step;
// - interior tiles, from their computation to their last use.
// Primitives that await the fold over the innermost stream (an output gate, an activation) run after it. Their inputs
// are live only there, and the stream's tiles are no longer live. A map overwrites an input of the same shape that has
// no later use. `buffers`: copies of a tile that every step loads. Primitives must be expand(schedule.diagram).
std::vector<LiveColumn> columns_of(const Island& island, const Primitives& primitives, std::int64_t buffers);

}  // namespace tilescope
