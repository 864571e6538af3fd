// The warps of resident blocks before they begin.
#pragma once

#include <vector>

#include "simulate/sm/state.h"

namespace tilescope::sm_state {

// Those that run the loop, block by block, then those beside it.
inline std::vector<Warp> warps_of(const SmProgram& program, const SmCode& code, int blocks, const Apart& apart) {
  const int own = program.warps * blocks;
  std::vector<Warp> warps(static_cast<std::size_t>(own + program.beside.warps * blocks));
  for (int i = 0; i < static_cast<int>(warps.size()); ++i) {
    Warp& warp = warps[static_cast<std::size_t>(i)];
    warp.index = i, warp.beside = i >= own;
    warp.block = warp.beside ? (i - own) / program.beside.warps : i / program.warps;
    warp.next = warp.beside ? code.end : 0, warp.op = code.operations.data() + warp.next;
    if (!warp.beside) warp.issued = warp.started = i / apart.warps * apart.clocks;
  }
  return warps;
}

}  // namespace tilescope::sm_state
