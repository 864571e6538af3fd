#include "loopbounds/register_banks.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace tilescope {
namespace {

constexpr int settling_passes = 4;
constexpr std::size_t sources = 3;

class Banks {
 public:
  int issue(const Instruction& instruction) {
    if (instruction.opcode != "FFMA") {
      advance(1);
      return 0;
    }
    for (std::size_t place = 0; place < sources; ++place) {
      const auto name = source_register(instruction, place + 1);
      const bool reuse = instruction.reuse >> (place + 1) & 1;
      const bool held = name == kept_[place];
      if (name && !held) ++queued_[static_cast<std::size_t>(*name % register_banks)];
      if (reuse || held) kept_[place] = reuse ? name : std::nullopt;
    }
    const int clocks = std::max(1, *std::max_element(queued_.begin(), queued_.end()) - reads_ahead);
    advance(clocks);
    return clocks - 1;
  }

 private:
  void advance(int clocks) {
    for (int& count : queued_) count = std::max(0, count - clocks);
  }

  std::array<int, register_banks> queued_{};
  std::array<std::optional<int>, sources> kept_{};
};

}  // namespace

std::optional<int> register_in(std::string_view operand) {
  const std::size_t start = operand.find_first_not_of(" -|~");
  if (start == operand.npos || operand[start] != 'R') return std::nullopt;
  operand.remove_prefix(start + 1);
  int number = 0;
  const auto [end, error] = std::from_chars(operand.data(), operand.data() + operand.size(), number);
  return error == std::errc{} && end != operand.data() ? std::optional(number) : std::nullopt;
}

std::optional<int> source_register(const Instruction& instruction, std::size_t operand) {
  return operand < instruction.operands.size() ? register_in(instruction.operands[operand]) : std::nullopt;
}

double bank_waits(const std::vector<const Instruction*>& pass) {
  Banks state;
  int waited = 0;
  for (int i = 0; i < settling_passes; ++i) {
    waited = 0;
    for (const Instruction* instruction : pass) waited += state.issue(*instruction);
  }
  return waited;
}

}  // namespace tilescope
