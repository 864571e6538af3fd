// Matrix instructions: shape, number formats and where the operands come from.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "kernel/code/sass/instruction.h"

namespace tilescope {

struct MatrixInstruction {
  std::string opcode{};                      // "HGMMA"
  std::int64_t m = 0, n = 0, k = 0;          // 0: not in the instruction (tensor memory)
  std::string type_a{}, type_b{}, result{};  // "F16", "E4M3", "F32"
  std::int64_t bits_a = 0, bits_b = 0;       // of an element
  std::int64_t result_bits = 0;
  std::int64_t threads = 32;  // that share it: 128 in a warpgroup
  bool a_from_shared = false, b_from_shared = false;
  bool sparse = false;  // two of four values of A are stored

  std::int64_t flop() const { return 2 * m * n * k; }
  std::int64_t shared_bytes() const;  // operands that it reads from shared memory
  std::int64_t registers_of(std::int64_t rows, std::int64_t columns, std::int64_t bits) const;

  friend auto operator<=>(const MatrixInstruction&, const MatrixInstruction&) = default;
};

// Nothing for other instructions, and for a shape that is not understood.
std::optional<MatrixInstruction> matrix_instruction(const Instruction& instruction);

}  // namespace tilescope
