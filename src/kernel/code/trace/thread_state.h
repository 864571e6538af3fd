// Registers, constants and indices of one thread of a launch.
#pragma once

#include <array>
#include <set>
#include <string_view>

#include "kernel/code/sass/instruction.h"
#include "kernel/code/trace/decode.h"
#include "kernel/code/trace/integer_unit.h"
#include "kernel/code/trace/traced_launch.h"

namespace tilescope {

// A generic address that stands for the parameters in constant bank 0.
constexpr std::uint64_t parameter_window = 0x7f0000000000;

class ThreadState {
 public:
  using Kind = DecodedOperand::Kind;

  ThreadState(const TracedLaunch& launch, const std::set<std::int64_t>& pointers,
              const std::array<std::uint32_t, 3>& block, const std::array<std::uint32_t, 3>& thread);

  Word reg(Kind kind, std::int16_t index, int more = 0) const {
    if (index < 0) return Word::of(kind == Kind::predicate || kind == Kind::uniform_predicate ? 1 : 0);
    const std::size_t place = static_cast<std::size_t>(index + more), file = static_cast<std::size_t>(kind);
    return place < sizes[file] ? words_[starts[file] + place] : Word{};
  }
  void set(Kind kind, std::int16_t index, int more, const Word& word) {
    if (index < 0) return;
    const std::size_t place = static_cast<std::size_t>(index + more), file = static_cast<std::size_t>(kind);
    if (place < sizes[file]) words_[starts[file] + place] = word;
  }
  Word constant(std::int16_t bank, std::int64_t offset) const;
  Word special(std::string_view name) const;               // a special register
  Word near_address(const DecodedOperand& operand) const;  // the offset of a constant, or an address in shared memory
  IntegerSource source(const DecodedOperand& operand) const;
  Word guard(const Instruction& instruction) const;
  void forget(const Instruction& instruction);  // the registers that it writes
  std::uint32_t lane() const;
  // P2R and R2P; what the bits that are moved depend on.
  VaryingWords move_predicates(const Instruction& instruction, const DecodedInstruction& decoded);

 private:
  Word parameter(std::int64_t offset) const;

  const TracedLaunch& launch_;
  const std::set<std::int64_t>& pointers_;
  std::array<std::uint32_t, 3> block_, thread_;
  // Of each kind of operand: none, general registers, uniform ones, predicates, uniform predicates, then none again.
  static constexpr std::array<std::size_t, 8> sizes{0, 256, 64, 8, 8, 0, 0, 0}, starts{0, 0, 256, 320, 328, 0, 0, 0};
  // Undefined at the start; code keeps their bits and never uses them, so that they may be known to be 0.
  std::array<Word, 336> words_{};
};

}  // namespace tilescope
