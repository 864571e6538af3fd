// The warps of a warpgroup, which begin its asynchronous products together.
#pragma once

#include <algorithm>
#include <span>

#include "simulate/sm/state.h"

namespace tilescope::sm_state {

// `warps`: of a role. The last ones of a block may be fewer than a warpgroup.
inline std::span<Warp> warpgroup_of(std::span<Warp> warps, const Warp& warp, int warps_a_block) {
  const int index = static_cast<int>(&warp - warps.data()), in_block = index % warps_a_block,
            first = in_block / group_warps * group_warps, count = std::min(group_warps, warps_a_block - first);
  return warps.subspan(static_cast<std::size_t>(index - in_block + first), static_cast<std::size_t>(count));
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

}  // namespace tilescope::sm_state
