// The machine code of a kernel's steps, which a simulated SM executes.
#pragma once

#include <string>

#include "kernel/describe/attention_loop.h"

namespace tilescope {

// Sections of a line an instruction, as a file of steps has them: "step", a pass of the loop; "masked", a pass of a
// tile that a mask cuts, where it has a loop of its own; "start" and "end", a block before and after the loop. Empty
// where warps have different roles or take turns, whose waits for each other one warp's code does not show, and for
// gradients.
std::string step_program(const CodeSummary& code, const AttentionLoop& loop);

}  // namespace tilescope
