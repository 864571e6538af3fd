// The blocks of an island in the order in which the device starts them: the grid's order, or the order in which blocks
// that stay claim their work. Facts of the descriptor (block_order, falling, sections) put on a bound nest.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "predict/point/bound_island.h"

namespace tilescope {

// A block: by position in the nest, the trip of each group loop. Streams are 0.
using BlockPlace = std::array<std::int64_t, max_loops>;

class BlockOrder {
 public:
  explicit BlockOrder(const BoundIsland& bound);

  std::int64_t size() const { return blocks_; }       // of the grid, or of the work that persistent blocks share
  BlockPlace at(std::int64_t number) const;           // number 0 starts first
  std::int64_t steps(const BlockPlace& place) const;  // tiles its streams visit; 0: none is live. Throws CountOverflow.
  // Whether a dimension runs from its last tile to its first: blocks in issue, steps within a block.
  static bool falls(const BoundIsland& bound, GridDimension dimension);
  // The grid dimension that a loop belongs to.
  static GridDimension dimension_of(const BoundIsland& bound, const BoundLoop& loop);

 private:
  using enum GridDimension;
  static constexpr std::size_t dimensions = kind_count<GridDimension>;
  struct Digit {  // of a block's number, fastest first
    GridDimension dimension;
    std::int64_t count;
  };
  struct LoopOf {  // a group loop
    std::size_t loop;
    std::int64_t trips;
  };
  std::int64_t section_heads(const BoundIsland& bound) const;
  std::int64_t place_in_section(BlockPlace& result, std::int64_t number) const;
  void place(BlockPlace& place, GridDimension dimension, std::int64_t trip) const;
  std::int64_t count(GridDimension dimension) const { return count_[static_cast<std::size_t>(dimension)]; }

  const BoundIsland& bound_;
  std::array<std::int64_t, dimensions> count_{};
  std::array<bool, dimensions> falls_{};
  std::vector<Digit> order_, inside_;                  // of the grid, without those of sections; within a section
  std::array<std::vector<LoopOf>, dimensions> loops_;  // the inner ones first
  std::int64_t blocks_ = 1;
  std::int64_t section_ = 0;   // heads of a section; 0: the grid is not cut
  std::int64_t per_head_ = 1;  // blocks of a head inside a section
  bool across_batches_ = false;
  bool smaller_first_ = false;   // a last section that has fewer heads comes before the others
  std::int64_t cut_heads_ = 0;   // heads that are cut into sections: of one batch entry, or of all
  std::vector<LiveTiles> live_;  // of a guarded nest: one, or one a chunk of the keys
};

// Steps of every block in issue order: what list scheduling needs. An empty block has 0.
std::vector<std::int64_t> steps_in_issue_order(const BoundIsland& bound);

}  // namespace tilescope
