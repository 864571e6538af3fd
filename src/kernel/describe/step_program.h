// The machine code of a kernel's steps, which a simulated SM executes.
#pragma once

#include <string>
#include <string_view>

#include "kernel/describe/attention_loop.h"

namespace tilescope {

// The warps that run the loop: whether they take turns, and how many units of a matrix instruction they are.
struct StepWarps {
  bool take_turns = false;
  std::int64_t units = 1;
};

// Sections of a line an instruction, as a file of steps has them: "step", a pass of the loop; "masked", a pass of a
// tile that a mask cuts, where it has a loop of its own; "start" and "end", a block before and after the loop, where
// all its warps are alike. Empty for gradients, and where warps have different roles and several units run the loop
// without turns: one warp's code does not show how far they are apart. A pass of a loop with products inside of the
// loop stands between "scores {" or "values {" and "}" where the launch decides how many there are.
std::string step_program(const CodeSummary& code, const AttentionLoop& loop, const StepWarps& warps);

enum class InnerLoop { scores, values };

// The program with so many passes of the inner loop one behind the other.
std::string with_passes(std::string program, InnerLoop inner, std::int64_t passes);

// Whether the number of passes of an inner loop is still open.
bool has_open_passes(std::string_view program);

}  // namespace tilescope
