// Blocks put on units in issue order: the next block starts where one ends first. Gives the exact tail: the last wave,
// long blocks that start late, units that hold fewer blocks than fit.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace tilescope {

inline constexpr int most_resident = 32;  // blocks a unit, of any GPU

// What a block takes on a unit that holds `j` blocks at that time; [0] is one block alone.
struct BlockClocks {
  std::array<double, most_resident> step{};  // clocks of one step of each of them
  double fixed = 0;                          // clocks a block takes beside its steps, with all places taken
  double empty = -1;                         // clocks of a block without a step, which loads nothing; < 0: `fixed`
  double oldest_first = 0;                   // scheduling bias between resident blocks: 0 fair, 1 oldest first

  // A block of so many steps on a unit that always holds `resident` blocks.
  double of_block(double steps, std::int64_t resident) const;
  bool operator==(const BlockClocks&) const = default;
};

struct Placement {
  double clocks = 0;  // until the last block ends
  double busy = 0;    // clocks that a unit holds a block, mean over the units
};

// List scheduling of blocks with these steps, in this order, on `units` units with room for `resident` blocks each, up
// to most_resident. The first blocks go to the units that `first` lists (first_blocks.h), or round the units, one a
// unit, where it is empty; later ones where a place is free first. A block's fixed part runs at the pace of its steps.
// O(blocks log units).
Placement place_blocks(std::span<const std::int64_t> steps, std::int64_t units, std::int64_t resident,
                       const BlockClocks& clocks, std::span<const std::int32_t> first = {});

// The same for `blocks` blocks of equal length, which may be the mean of unequal ones. O(1).
Placement place_equal_blocks(std::int64_t blocks, double steps, std::int64_t units, std::int64_t resident,
                             const BlockClocks& clocks);

}  // namespace tilescope
