#include "kernel/code/trace/thread_state.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace tilescope {
namespace {

constexpr std::uint32_t window_constant = 0x198, stack_constant = 0x28, stack_top = 0xfffe00;

}  // namespace

ThreadState::ThreadState(const TracedLaunch& launch, const std::set<std::int64_t>& pointers,
                         const std::array<std::uint32_t, 3>& block, const std::array<std::uint32_t, 3>& thread)
    : launch_(launch), pointers_(pointers), block_(block), thread_(thread) {
  words_.fill(Word::of(0));
}

Word ThreadState::guard(const Instruction& i) const {
  if (i.guard.kind != Guard::Kind::predicate) return Word::of(i.guard.kind == Guard::Kind::always ? 1 : 0);
  const bool uniform = i.guard.predicate.file != RegisterFile::predicate;
  Word word =
      reg(uniform ? Kind::uniform_predicate : Kind::predicate, static_cast<std::int16_t>(i.guard.predicate.first));
  if (i.guard.negated) word.value = word.value != 0 ? 0 : 1;
  return word;
}

Word ThreadState::parameter(std::int64_t offset) const {
  if (offset < 0 || offset + 4 > static_cast<std::int64_t>(launch_.parameters.size())) return {};
  std::uint32_t value = 0;
  std::memcpy(&value, launch_.parameters.data() + offset, sizeof(value));
  const bool pointer = pointers_.contains(offset);
  Word word = Word::of(value, pointer ? static_cast<std::uint16_t>(offset + 1) : 0);
  const auto varying = std::find(launch_.varying.begin(), launch_.varying.end(), offset);
  if (varying != launch_.varying.end())
    word.varies = varying_bit(static_cast<std::size_t>(varying - launch_.varying.begin()));
  return word;
}

Word ThreadState::constant(std::int16_t bank, std::int64_t offset) const {
  if (bank != 0) return {};
  if (offset >= launch_.constant_offset) return parameter(offset - launch_.constant_offset);
  if (offset < 12) return Word::of(launch_.block[static_cast<std::size_t>(offset / 4)]);
  if (offset < 24) return Word::of(launch_.grid[static_cast<std::size_t>(offset / 4 - 3)]);
  if (offset == stack_constant) return Word::of(stack_top);
  if (offset == window_constant) return Word::of(static_cast<std::uint32_t>(parameter_window));
  if (offset == window_constant + 4) return Word::of(static_cast<std::uint32_t>(parameter_window >> 32));
  return {};
}

Word ThreadState::near_address(const DecodedOperand& operand) const {
  Word sum = Word::of(operand.number);
  for (const auto& [kind, index] : {std::pair{Kind::general, operand.base}, std::pair{Kind::uniform, operand.ubase}}) {
    if (index < 0) continue;
    const Word word = reg(kind, index);
    if (!word.known) return {.varies = word.varies};
    sum.value += word.value, sum.varies |= word.varies;
  }
  return sum;
}

IntegerSource ThreadState::source(const DecodedOperand& operand) const {
  IntegerSource from{.negative = operand.negative, .inverted = operand.inverted, .magnitude = operand.magnitude};
  from.predicate = operand.kind == Kind::predicate || operand.kind == Kind::uniform_predicate;
  switch (operand.kind) {
    case Kind::number:
      from.low = Word::of(operand.number), from.high = Word::of(operand.number >> 31 ? ~0U : 0);
      break;
    case Kind::constant:
      if (const Word offset = near_address(operand); offset.known)
        from.low = constant(operand.bank, offset.value), from.high = constant(operand.bank, offset.value + 4),
        from.low.varies |= offset.varies;
      break;
    case Kind::memory:
    case Kind::other:
      break;
    default:
      from.low = reg(operand.kind, operand.index);
      from.high = from.predicate || operand.index < 0 ? Word::of(0) : reg(operand.kind, operand.index, 1);
  }
  if (from.predicate && operand.inverted) from.low.value = from.low.value != 0 ? 0 : 1, from.inverted = false;
  return from;
}

void ThreadState::forget(const Instruction& i) {
  for (const RegisterSpan& span : i.writes)
    for (int k = 0; k < span.count; ++k) {
      const Kind kind = span.file == RegisterFile::general     ? Kind::general
                        : span.file == RegisterFile::uniform   ? Kind::uniform
                        : span.file == RegisterFile::predicate ? Kind::predicate
                                                               : Kind::uniform_predicate;
      if (span.file != RegisterFile::convergence) set(kind, static_cast<std::int16_t>(span.first), k, {});
    }
}

VaryingWords ThreadState::move_predicates(const Instruction& i, const DecodedInstruction& decoded) {
  const std::vector<DecodedOperand>& operands = decoded.operands;
  constexpr std::uint32_t all = 0x7f;
  if (decoded.opcode == TracedOpcode::set_predicates) {
    const Word bits = operands.size() > 1 ? source(operands[1]).low : Word{};
    const std::uint32_t mask = operands.size() > 2 ? operands[2].number : all;
    const VaryingWords varies = bits.varies;
    for (std::uint32_t k = 0; k < 7; ++k)
      if (mask >> k & 1)
        set(Kind::predicate, static_cast<std::int16_t>(k), 0,
            bits.known && i.modifiers.empty() ? Word::of(bits.value >> k & 1) : Word{});
    return varies;
  }
  forget(i);
  if (operands.size() < 4 || !i.modifiers.empty()) return 0;
  VaryingWords varies = 0;
  const std::uint32_t mask = source(operands[3]).low.value;
  Word kept = source(operands[2]).low;
  for (std::uint32_t k = 0; k < 7; ++k) {
    if ((mask >> k & 1) == 0) continue;
    const Word bit = reg(Kind::predicate, static_cast<std::int16_t>(k));
    varies |= bit.varies;
    kept.known = kept.known && bit.known;
    kept.value = (kept.value & ~(1U << k)) | (bit.value != 0 ? 1U << k : 0);
  }
  kept.origin = 0;
  set(operands[0].kind, operands[0].index, 0, kept);
  return varies;
}

Word ThreadState::special(std::string_view name) const {
  constexpr std::string_view axes = "XYZ";
  const std::size_t axis = axes.find(name.back());
  if (name == "SRZ") return Word::of(0);
  if (name.starts_with("SR_TID.") && axis < 3) return Word::of(thread_[axis]);
  if (name.starts_with("SR_CTAID.") && axis < 3) return Word::of(block_[axis]);
  if (name.starts_with("SR_NTID.") && axis < 3) return Word::of(launch_.block[axis]);
  if (name.starts_with("SR_NCTAID.") && axis < 3) return Word::of(launch_.grid[axis]);
  if (name == "SR_LANEID") return Word::of(lane());
  if (name == "SR_CgaCtaId") return Word::of(0);
  return {};
}

std::uint32_t ThreadState::lane() const {
  const auto& block = launch_.block;
  return (thread_[0] + block[0] * (thread_[1] + block[1] * thread_[2])) % 32;
}

}  // namespace tilescope
