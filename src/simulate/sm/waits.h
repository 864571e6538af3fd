// What a warp of a simulated SM waits for.
#pragma once

#include <bit>

#include "base/error.h"
#include "simulate/sm/state.h"

namespace tilescope::sm_state {

[[noreturn]] inline void wait_for_ever() {
  throw InputError(Diagnostic{.path = "--simulate", .message = "all warps wait for each other at a barrier"});
}

// The warp issues nothing before `until`. `detailed`: what it waits for is counted.
template <bool detailed>
void delay(Warp& warp, Ticks until, SmWait cause) {
  until = whole_clock(until);
  if (until <= warp.at) return;
  if constexpr (detailed) warp.causes[index_of(cause)] += until - warp.at;
  warp.at = until;
}

template <bool detailed>
void wait_for_boards(Warp& warp) {
  Ticks boards = warp.at;
  for (unsigned mask = warp.op->wait_mask; mask != 0; mask &= mask - 1)
    boards = std::max(boards, warp.boards[static_cast<std::size_t>(std::countr_zero(mask))]);
  delay<detailed>(warp, boards, SmWait::scoreboard);
}

}  // namespace tilescope::sm_state
