// Scheduling fields of the 128-bit encoding of an instruction, for compute capability 7.0 and later.
#pragma once

#include "kernel/code/sass/instruction.h"

namespace tilescope {

constexpr std::uint64_t instruction_bytes = 16;

// Bits 105 to 121 of an encoding, whose upper 64 bits are `upper`.
IssueControl issue_control(std::uint64_t upper);

// Reads the fields of all instructions from `code`, the bytes of their section. Throws InputError, which names `file`,
// where an instruction lies outside.
void add_issue_control(CodeSection& section, std::string_view code, const std::string& file);

}  // namespace tilescope
