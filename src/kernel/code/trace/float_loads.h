// Loads whose values are floating-point numbers, as the code uses them.
#pragma once

#include <vector>

#include "kernel/code/sass/instruction.h"

namespace tilescope {

// By instruction: whether a floating-point instruction reads a register that it loads, before that is written again in
// the order of the addresses. Integer code may look at the bits of such a number too, as divisions do.
std::vector<bool> loads_of_floats(const CodeSection& section);

}  // namespace tilescope
