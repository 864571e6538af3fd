// Which sizes of a schedule's parameters are worth trying, from what the parameters cut: nothing here knows their
// names.
#pragma once

#include <optional>
#include <vector>

#include "predict/prediction.h"

namespace tilescope {

// Candidates of every parameter, by position in Schedule::parameters:
//  - a tile of the innermost cut axis of a matrix operand's side: 1, 2, 3, 4, 6 ... 16 times the extent of the
//    descriptor's matrix instruction, up to 256 and up to the axis, rounded up; also those sizes divided by the tile of
//    an outer axis of the same side, with which they may share a tile (query heads of a group);
//  - a tile of such an outer axis: each divisor of its length up to 256, and its length padded to whole instructions;
//  - the number of parts of a split: 1, 2, 3, 4, 6, 8 ... up to the units of the GPU;
//  - a parameter that cuts no matrix operand keeps its value, as nothing of its footprint is modelled.
std::vector<std::vector<std::int64_t>> tile_candidates(const Plan& plan, const HardwareProfile& hardware,
                                                       const Point& base);

// Where the warps of a block lie in a tile that has queries: each has rows of its own, or several share rows and take
// different columns. These pass scores on to each other through shared memory, and accumulate a part of the output
// each.
enum class WarpLayout { own_rows, shared_rows };

// What a plan's contractions on matrix instructions ask of a tile, worked out once for all points of a workload. The
// plan is to outlive it.
class TileRules {
 public:
  TileRules(const Plan& plan, const Workload& workload);

  // Whether whole matrix instructions cover the tiles of every contraction and its warps take equal shares. The warps
  // lie along the queries (without a mask's axes: along the rows), where a contraction's result has them, else over all
  // of its tile, or as the descriptor's grid says. Where a tile has all queries (decoding), warps may share rows in
  // either layout.
  bool fit(const Point& point, WarpLayout layout) const;

 private:
  struct SideAxis {
    std::int64_t size;
    const Loop* loop;  // the innermost one; nullptr: the axis is taken whole
    bool cut;          // by a parameter
    std::int64_t tile_in(const Point& point) const;
  };
  struct Side {
    std::int64_t unit;  // of the instruction
    std::vector<SideAxis> axes = {};
    bool cut = false, queries = false;
    std::optional<std::int64_t> length_in(const Point& point) const;
    bool whole_in(const Point& point) const;  // the tile holds the side's axes that the grid may cut
  };
  struct Product {
    Side rows, columns, summed;
    WarpGrid grid;                // where the descriptor states how warps share the product; 0: it does not
    std::int64_t warps_together;  // of an instruction
    bool guarded;
    bool fits(const Point& point, WarpLayout layout) const;
  };
  std::vector<Product> products_;
};

inline constexpr std::int64_t fewest_warps = 4;

}  // namespace tilescope
