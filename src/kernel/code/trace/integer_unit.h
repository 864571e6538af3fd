// Results of integer instructions, and of the float instructions that integer divisions consist of.
#pragma once

#include <span>

#include "kernel/code/sass/instruction.h"
#include "kernel/code/trace/word.h"

namespace tilescope {

struct IntegerSource {
  Word low{}, high{};  // high: of a pair
  bool negative = false, inverted = false, magnitude = false, predicate = false;

  Word value() const;  // with its sign
};
struct IntegerResult {
  Word low{}, high{};  // high: of a pair
  Word predicate{};    // a comparison, a carry, or whether logic left a bit
  Word second{};       // the second carry, or the second predicate of predicate logic
};

// What computes the results of an opcode; `none`: nothing here does.
enum class IntegerOperation : std::uint8_t {
  none,
  move,
  add,
  multiply,
  scaled_add,
  shift,
  logic,
  predicate_logic,
  compare,
  select,
  least_or_most,
  permute,
  convert,
  reciprocal,
  bits
};
IntegerOperation integer_operation(const Instruction& instruction);

// The results of an instruction whose `sources` stand behind its results; what depends on an unknown value is unknown.
IntegerResult integer_result(const Instruction& instruction, std::span<const IntegerSource> sources);
IntegerResult integer_result(IntegerOperation operation, const Instruction& instruction,
                             std::span<const IntegerSource> sources);

}  // namespace tilescope
