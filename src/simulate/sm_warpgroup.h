// The warps of a warpgroup, which begin its asynchronous products together.
#pragma once

#include <algorithm>
#include <span>

#include "simulate/sm_state.h"

namespace tilescope::sm_state {

// The last warps of a block may be fewer than a warpgroup.
inline std::span<Warp> warpgroup_of(std::span<Warp> warps, const Warp& warp, int warps_a_block) {
  const int in_block = warp.index % warps_a_block, first = in_block / group_warps * group_warps,
            count = std::min(group_warps, warps_a_block - first);
  return warps.subspan(static_cast<std::size_t>(warp.index - in_block + first), static_cast<std::size_t>(count));
}

// Tensor cores of all schedulers work on a product together: from the clock after the last warp has issued it. Returns
// whether all have.
inline bool complete(std::span<Warp> warpgroup, std::int64_t number) {
  const std::size_t place = Products::place(number);
  Ticks last = 0;
  for (const Warp& warp : warpgroup) {
    if (warp.products.issued <= number) return false;
    last = std::max(last, warp.products.asked[place]);
  }
  for (Warp& warp : warpgroup) warp.products.complete[place] = last + ticks_a_clock;
  return true;
}

// The first warpgroup of each block has the first turn.
inline void start_turns(const SmCode& code, std::span<Barrier> barriers) {
  for (const SmOperation& op : code.operations)
    if (op.number == SmOperation::turn && op.effect == SmEffect::barrier_sync)
      for (std::size_t first = first_turn; first < barriers.size(); first += block_barriers)
        barriers[first].arrived = op.count - group_warps;
}

}  // namespace tilescope::sm_state
