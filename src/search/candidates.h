// Which sizes of a schedule's parameters are worth trying, from what the parameters cut: nothing here knows their
// names.
#pragma once

#include <vector>

#include "predict/prediction.h"

namespace tilescope {

// Candidates of every parameter, by position in Schedule::parameters:
//  - a tile of the innermost cut axis of a matrix operand's side: 1, 2, 3, 4, 6 ... 16 times the extent of the
//    descriptor's matrix instruction, up to 256 and up to the axis, rounded up; also those sizes divided by the tile of
//    an outer axis of the same side, with which they may share a tile (query heads of a group);
//  - a tile of such an outer axis: each divisor of its length up to 256;
//  - the number of parts of a split: 1, 2, 3, 4, 6, 8 ... up to the units of the GPU;
//  - a parameter that cuts no matrix operand keeps its value, as nothing of its footprint is modelled.
std::vector<std::vector<std::int64_t>> tile_candidates(const Plan& plan, const HardwareProfile& hardware,
                                                       const Point& base);

// Where the warps of a block lie in a tile that has queries: each has rows of its own, or several share rows and take
// different columns. These pass scores on to each other through shared memory, and accumulate a part of the output
// each.
enum class WarpLayout { own_rows, shared_rows };

// Whether whole matrix instructions cover the tiles of every contraction and its warps take equal shares. The warps lie
// along the queries (without a mask's axes: along the rows), where a contraction's result has them, else over all of
// its tile. Where a tile has all queries (decoding), warps may share rows in either layout.
bool tiles_fit_instructions(const Plan& plan, const Point& point, WarpLayout layout);

inline constexpr std::int64_t fewest_warps = 4;

}  // namespace tilescope
