// The best integer tiles, by exhaustive search over all that fit.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "poly/program.h"

namespace tilescope {

// Tiles least, least + step, ... up to most.
struct TileSteps {
  std::int64_t least = 1, most = 1, step = 1;
};

// An exact count as a function of the tiles.
using TileCount = std::function<std::int64_t(std::span<const std::int64_t>)>;

// `output` of a compiled program: `inputs` with the tiles put at `tile_positions` among them.
TileCount tile_count(const Program& program, std::vector<std::int64_t> inputs, std::vector<std::size_t> tile_positions,
                     std::vector<std::int64_t> externals = {}, std::size_t output = 0);

struct IntegerOptimum {
  std::vector<std::int64_t> tiles;  // of equal ones the first in lexicographic order
  std::int64_t traffic = 0;
};

struct IntegerSearch {
  std::optional<IntegerOptimum> best;  // nothing when no tiles fit
  bool complete = true;                // false: stopped at most_points, `best` is the best so far
  std::int64_t points = 0;             // evaluations of memory or traffic
};

// Memory must not fall when a tile grows: the loop over a tile ends once it does not fit together with the smallest
// values of the others. Throws std::invalid_argument for a step or least tile below 1; exceptions of the counts
// propagate.
IntegerSearch search_tiles(std::span<const TileSteps> steps, const TileCount& memory, std::int64_t capacity,
                           const TileCount& traffic, std::int64_t most_points = 10'000'000);

}  // namespace tilescope
