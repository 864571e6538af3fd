// The one transfer rule. For an array A at a level boundary with one resident tile:
//
//   last(A) = innermost loop l with trips > 1 that indexes A or is a group loop
//   A's tile moves once for every combination of the loops up to last(A)
//
// so its traffic is the sum of clipped tile sizes over those combinations; under a mask only live (query, key) tiles
// are combined. An input is loaded that often; an output or accumulator is stored that often and loaded back that
// often less its first touch. (Napkin, arXiv 2412.03317, section 3; exact counts for ragged tiles.)
#pragma once

#include <cstdint>

#include "cost/nest.h"

namespace tilescope {

// An array as far as transfers are concerned: its axes (Array::axes).
using Axes = std::span<const AxisId>;

struct TouchOptions {
  bool resident = true;      // false: the tile is fetched anew at every step of the nest
  bool whole_tiles = false;  // count partial tiles as full ones (what padded hardware tiles move)
};

// Values of A moved over the boundary in one direction, counting every (re)load. Throws CountOverflow.
std::int64_t touched_values(const Nest& nest, const NestSums& live, Axes array, TouchOptions options = {});

// Values of an output that cross the boundary outwards and back in, by the way it is accumulated there, and those that
// initialise it beforehand.
struct StoreCounts {
  std::int64_t stored = 0, loaded = 0, zeros = 0;
};
StoreCounts stored_values(const Nest& nest, const NestSums& live, Axes array, const Stored& how);

// Distinct values of A that any live step touches: touched_values less all repetition.
std::int64_t distinct_values(const Nest& nest, const NestSums& live, Axes array, bool whole_tiles = false);

// Points of an iteration space given by `axes`, times recomputation by loops over other axes. One more loop counts
// steps: axes may be empty. Used for work: 2 * points FLOP for a contraction.
std::int64_t visited_points(const Nest& nest, const NestSums& live, Axes axes, bool whole_tiles);

// Of a guarded nest: the part of touched_values that the mask decides, the sum over live (query, key) tiles of the
// array's rows, keys, their product or 1; and the values saved where a tile that is left is the next to be entered.
std::int64_t live_extent(const Nest& nest, const NestSums& live, Axes array);
std::int64_t stationary_values(const Nest& nest, Axes array, bool whole_tiles = false);

// last(A), for explanations: position of the loop, -1 when no loop moves the tile.
int last_loop(const Nest& nest, Axes array, bool resident = true);

}  // namespace tilescope
