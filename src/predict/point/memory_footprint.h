// What a schedule keeps in the GPU's memory.
#pragma once

#include <bit>
#include <span>
#include <vector>

#include "predict/point/footprint.h"

namespace tilescope {

// How much of an array every schedule reads or writes, at least.
enum class Compulsory { none, visited_rows, all_rows };

// An array as it lies in the GPU's memory. A view comes with its source and is none.
struct WholeArray {
  ArrayId id{};
  AxisBits axes = 0, parts = 0;  // parts: of the axes, those that count parts of the keys
  int launch = -1;               // the first one that loads or stores it; -1: none
  Compulsory compulsory = Compulsory::none;

  // Values, by sizes of axes.
  static std::int64_t values(AxisBits axes, const std::array<std::int64_t, max_axes>& sizes) {
    std::int64_t count = 1;
    for (; axes != 0; axes &= axes - 1)
      count = checked_mul(count, sizes[static_cast<std::size_t>(std::countr_zero(axes))]);
    return count;
  }
};
// Those of all launches; they lie in the first one's `known`.
const std::vector<WholeArray>& whole_arrays(std::span<const BoundIsland> launches);

// Sizes of the diagram's axes, but for those that count parts.
std::array<std::int64_t, max_axes> axis_sizes(std::span<const BoundIsland> launches);

// Bytes of every array that a launch loads or stores: inputs, outputs, and what one launch leaves for another (scores
// and probabilities of unfused attention, partial results of a split). Arrays are whole, also where a mask skips tiles.
Allocations memory_footprint(std::span<const BoundIsland> launches);

}  // namespace tilescope
