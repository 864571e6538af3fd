// What is live on the chip while each primitive of an island runs (theory 4.2, P9): the columns of the pseudocode.
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

// One column a primitive. Live are: tiles that stay over the innermost stream (inputs that it does not move, results
// and running state that it adds to); tiles that it moves, from their first use in a step to their last; interior tiles
// from where they are computed to their last use. A map writes over an input of the same shape that nothing needs any
// more. `buffers`: copies of a tile that every step fetches. Primitives must be those of the island's schedule:
// expand(schedule.diagram).
std::vector<LiveColumn> columns_of(const Island& island, const Primitives& primitives, std::int64_t buffers);

}  // namespace tilescope
