// Which instructions decide what a thread addresses and where it goes. The others, most of a kernel's arithmetic, need
// not be carried out.
#pragma once

#include <vector>

#include "kernel/code/trace/decode.h"

namespace tilescope {

struct NeededCode {
  // Of each instruction, the first from it on that is needed or ends a block; the number of instructions: none.
  std::vector<std::size_t> next;
  // Places behind calls. Code that returns elsewhere has to be carried out as a whole.
  std::vector<bool> behind_call;
};

NeededCode needed_code(const CodeSection& section, const std::vector<DecodedInstruction>& decoded);

}  // namespace tilescope
