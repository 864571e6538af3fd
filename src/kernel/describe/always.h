// Which blocks of code run in every execution of a kernel's loop.
#pragma once

#include "kernel/code/summary/code_summary.h"

namespace tilescope {

// By block: outside the loop, and on every path through it: each path from the entry to the loop passes the block, or
// each path from the loop to the end does.
std::vector<bool> always_around(const CodeSummary& code, std::size_t loop);

}  // namespace tilescope
