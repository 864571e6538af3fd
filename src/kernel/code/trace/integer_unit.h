// Results of integer instructions, and of the float instructions that integer divisions consist of.
#pragma once

#include <span>

#include "kernel/code/sass/instruction.h"
#include "kernel/code/trace/modifiers.h"
#include "kernel/code/trace/word.h"

namespace tilescope {

struct IntegerSource {
  Word low{}, high{};  // high: of a pair
  bool negative = false, inverted = false, magnitude = false, predicate = false;

  Word value() const {  // with its sign
    Word word = low;
    if (predicate || !word.known) return word;
    if (magnitude && static_cast<std::int32_t>(word.value) < 0) word.value = 0 - word.value;
    if (negative) word.value = 0 - word.value;
    if (inverted) word.value = ~word.value;
    if (negative || inverted) word.origin = 0;
    return word;
  }
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
  least_or_most_of_sum,
  permute,
  from_integer,
  to_integer,
  reciprocal,
  absolute,
  count_bits,
  reverse_bits,
  first_bit,
  extend_sign
};

enum class Relation : std::uint8_t { none, less, less_equal, greater, greater_equal, equal, not_equal };

// What of an instruction decides its results: found once, carried out often.
struct IntegerCode {
  IntegerOperation operation = IntegerOperation::none;
  Relation relation = Relation::none;  // of a comparison
  Modifiers modifiers{};

  IntegerCode() = default;
  explicit IntegerCode(const Instruction& instruction);
  bool has(Modifier modifier) const { return modifiers.has(modifier); }
};

// The results of an instruction whose `sources` stand behind its results; what depends on an unknown value is unknown.
IntegerResult integer_result(const IntegerCode& code, std::span<const IntegerSource> sources);

}  // namespace tilescope
