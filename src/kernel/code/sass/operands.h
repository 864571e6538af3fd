// The text of one instruction, taken apart.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kernel/code/sass/instruction.h"

namespace tilescope {

// Fills guard, opcode, modifiers and operands from "@!P0 IADD3 R1, P0, R2.reuse, 0x1, RZ". `table`: the labels that an
// indirect branch lists. Returns false for text that is no instruction.
bool parse_instruction(std::string_view text, Instruction& instruction, std::vector<std::string>& table);

}  // namespace tilescope
