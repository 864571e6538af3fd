// Counts of a plain nest, whose loops are all alike: without a guarded pair, and without parts. A count is a product of
// sizes, tiles and trips. Which of them follows from the order of the loops and from which of them move, so that nests
// that differ only in sizes share it.
#pragma once

#include <bit>

#include "cost/nest.h"

namespace tilescope {

// Loops as a bit a position in Nest::loops.
using LoopBits = std::uint32_t;
static_assert(max_loops <= 32);

inline bool plain(const Nest& nest) { return !nest.guarded() && !nest.chunked.present(); }

// Loops of several trips.
inline LoopBits moving_loops(const Nest& nest) {
  LoopBits moving = 0;
  for (std::size_t i = 0; i < nest.loop_count; ++i) moving |= LoopBits{nest.loops[i].trips > 1} << i;
  return moving;
}

struct PlainCount {
  AxisBits sizes = 0;
  LoopBits tiles = 0, trips = 0;

  // Throws CountOverflow.
  std::int64_t of(const Nest& nest) const {
    std::int64_t count = 1;
    for (AxisBits left = sizes; left != 0; left &= left - 1)
      count = checked_mul(count, nest.sizes[static_cast<std::size_t>(std::countr_zero(left))]);
    for (LoopBits left = tiles; left != 0; left &= left - 1)
      count = checked_mul(count, nest.loops[static_cast<std::size_t>(std::countr_zero(left))].tile);
    for (LoopBits left = trips; left != 0; left &= left - 1)
      count = checked_mul(count, nest.loops[static_cast<std::size_t>(std::countr_zero(left))].trips);
    return count;
  }
};

// The array's extent in every combination of the loops up to `last`. With whole tiles, partial ones count as full.
inline PlainCount repeated_count(const Nest& nest, AxisBits array, int last, bool whole_tiles = false) {
  PlainCount count{.sizes = array};
  for (std::size_t i = 0; i < nest.loop_count; ++i) {
    const BoundLoop& loop = nest.loops[i];
    const LoopBits own = LoopBits{1} << i;
    if (whole_tiles && (count.sizes & bit(loop.axis)) != 0)
      count.sizes &= ~bit(loop.axis), count.tiles |= own, count.trips |= own;
    if (static_cast<int>(i) <= last && loop.trips > 1 && !Nest::carries(array, loop)) count.trips |= own;
  }
  return count;
}

// repeated_count(...).of(nest), for who asks once.
inline std::int64_t plain_repeated(const Nest& nest, AxisBits array, int last, bool whole_tiles = false) {
  std::int64_t count = 1;
  AxisBits sizes = array;
  for (int i = 0; i < static_cast<int>(nest.loop_count); ++i) {
    const BoundLoop& loop = nest.loops[static_cast<std::size_t>(i)];
    const AxisBits own = whole_tiles ? sizes & bit(loop.axis) : 0;
    if (own != 0) sizes &= ~own, count = checked_mul(count, loop.tile);
    if (loop.trips > 1 && (own != 0 || (i <= last && !Nest::carries(array, loop))))
      count = checked_mul(count, loop.trips);
  }
  for (; sizes != 0; sizes &= sizes - 1)
    count = checked_mul(count, nest.sizes[static_cast<std::size_t>(std::countr_zero(sizes))]);
  return count;
}

}  // namespace tilescope
