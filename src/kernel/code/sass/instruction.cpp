#include "kernel/code/sass/instruction.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace tilescope {

bool Instruction::has(std::string_view modifier) const {
  return std::find(modifiers.begin(), modifiers.end(), modifier) != modifiers.end();
}

std::string Instruction::mnemonic() const {
  std::string name = opcode;
  for (const std::string& modifier : modifiers) name += "." + modifier;
  return name;
}

std::string Instruction::text() const {
  std::string line;
  if (guard.kind == Guard::Kind::never) line = "@!PT ";
  if (guard.kind == Guard::Kind::predicate)
    line = fmt::format("@{}{} ", guard.negated ? "!" : "", to_string(guard.predicate));
  line += mnemonic();
  if (!operands.empty()) line += " " + join(operands, ", ");
  return line;
}

std::string to_string(const RegisterSpan& span) {
  constexpr const char* letters[] = {"R", "UR", "P", "UP", "B"};
  const char* letter = letters[static_cast<int>(span.file)];
  if (span.count == 1) return fmt::format("{}{}", letter, span.first);
  return fmt::format("{}{}..{}{}", letter, span.first, letter, span.first + span.count - 1);
}

}  // namespace tilescope
