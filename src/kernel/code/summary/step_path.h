// The way of a warp through one pass of a loop.
#pragma once

#include <cstdint>
#include <vector>

#include "kernel/code/summary/code_summary.h"

namespace tilescope {

// Instructions of the section, in the order of execution, from the loop's header until it returns there. Code cannot
// tell which way a branch inside the loop goes. Of all ways with one pass of inner loops it is the one with most copies
// and stores and sums to global memory, and among these the one with fewest instructions: a step in the middle copies
// the tile of a later step, stores whole rows, and skips what only the first step, the last one or a masked tile does.
// Blocks at `through` (addresses) are on the way. Empty where there is no way.
std::vector<std::size_t> step_path(const CodeSummary& code, std::size_t loop,
                                   const std::vector<std::uint64_t>& through);

// The same from the start of the kernel to the loop's header: the way with most loads and copies. And from the loop to
// the kernel's end: the way with most stores. A pass of each loop on the way.
std::vector<std::size_t> start_path(const CodeSummary& code, std::size_t loop);
std::vector<std::size_t> end_path(const CodeSummary& code, std::size_t loop);

}  // namespace tilescope
