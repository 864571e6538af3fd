// Which way the branches that depend on the thread's index alone send each warp.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "kernel/code/flow/blocks.h"

namespace tilescope {

constexpr int most_warps = 32;  // of a block

// Whether warps take the jump at the end of a block, or go on to the next one. Both, where their threads differ or the
// condition is not a function of the thread's index.
struct WarpChoice {
  std::array<bool, most_warps> jumps{}, goes_on{};
};

// One for each block. Constants, moves, adds, shifts, bitwise logic, comparisons, selections and broadcasts of values
// that follow from the index of the thread in a one-dimensional block are carried out; the rest is unknown.
std::vector<WarpChoice> warp_choices(const CodeSection& section, const FlowGraph& flow);

}  // namespace tilescope
