// Groups of warps of a block that run different code.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "kernel/code/summary/thread_values.h"

namespace tilescope {

struct WarpRole {
  std::vector<std::pair<int, int>> warps;  // first and last of each range
  std::vector<bool> reaches;               // by block
};

// Warps that reach the same loops and the same changes of the number of registers have one role. `warps`: of a block.
std::vector<WarpRole> warp_roles(const CodeSection& section, const FlowGraph& flow, const LoopForest& forest,
                                 int warps);

}  // namespace tilescope
