// Waits of a scheduler for the banks of its registers.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "kernel/code/sass/instruction.h"

namespace tilescope {

// Even and odd registers are in two banks. So many operands of one may wait while the next instruction is issued.
inline constexpr int register_banks = 2, reads_ahead = 2;

// The register of a thread that an operand names: "-R12" -> 12; none for RZ and all else.
std::optional<int> register_in(std::string_view operand);
std::optional<int> source_register(const Instruction& instruction, std::size_t operand);

// Clocks of a pass in which a scheduler with many warps issues nothing because operands of FP32 multiply-adds wait for
// their banks. Even and odd registers are in two banks. Each delivers one operand a clock; one more may wait while the
// next instruction is issued. An operand marked `.reuse` need not be read again if the next instruction has it in the
// same place. The test compares the rule with loops measured on an H200 (validate/microbench/register_banks.json).
double bank_waits(const std::vector<const Instruction*>& pass);

}  // namespace tilescope
