#include "kernel/code/summary/counts.h"

#include <charconv>
#include <optional>
#include <tuple>

#include "kernel/code/sass/registers.h"

namespace tilescope {

std::int64_t CodeCounts::of(InstructionKind kind) const {
  const auto found = kinds.find(kind);
  return found == kinds.end() ? 0 : found->second;
}

std::int64_t CodeCounts::tensor_flop() const {
  std::int64_t sum = 0;
  for (const auto& [form, count] : matrix) sum += form.flop() * count;
  return sum;
}

std::int64_t CodeCounts::thread_bytes(InstructionKind kind, CodeMemory level) const {
  std::int64_t sum = 0;
  for (const auto& [form, count] : memory)
    if (form.kind == kind && form.memory == level) sum += form.thread_bytes * count.of_thread();
  return sum;
}

CodeCounts& CodeCounts::operator+=(const CodeCounts& more) {
  instructions += more.instructions;
  const auto add = [](auto& to, const auto& from) {
    for (const auto& [key, count] : from) to[key] += count;
  };
  add(kinds, more.kinds), add(opcodes, more.opcodes), add(matrix, more.matrix);
  add(special, more.special), add(waits, more.waits);
  for (const auto& [form, count] : more.memory) {
    MemoryCount& own = memory[form];
    own.instructions += count.instructions, own.guarded += count.guarded, own.alternative += count.alternative;
  }
  return *this;
}

namespace {

// Counts accesses under a predicate and under its negation, as long as the predicate keeps its value.
class GuardedAccesses {
 public:
  void add(const Guard& guard, const MemoryForm& form, CodeCounts& counts) {
    MemoryCount& count = counts.memory[form];
    ++count.instructions;
    if (guard.kind != Guard::Kind::predicate) return;
    ++count.guarded;
    const auto name = std::pair(guard.predicate.file, guard.predicate.first);
    auto& sides = seen_[{name, writes_[name], form}];
    std::int64_t& own = guard.negated ? sides.second : sides.first;
    const std::int64_t other = guard.negated ? sides.first : sides.second;
    if (++own <= other) ++count.alternative;
  }
  void written(const RegisterSpan& span) {
    for (int i = 0; i < span.count; ++i) ++writes_[{span.file, span.first + i}];
  }

 private:
  using Name = std::pair<RegisterFile, int>;
  std::map<Name, int> writes_;
  std::map<std::tuple<Name, int, MemoryForm>, std::pair<std::int64_t, std::int64_t>> seen_;
};

// N of "DEPBAR.LE SB0, N" and "WARPGROUP.DEPBAR.LE gsb0, N".
std::optional<std::int64_t> groups_left(const Instruction& instruction) {
  const bool copies = instruction.opcode == "DEPBAR" && instruction.has("LE");
  const bool products = instruction.opcode == "WARPGROUP" && instruction.has("DEPBAR");
  if ((!copies && !products) || instruction.operands.empty()) return std::nullopt;
  const std::string& text = instruction.operands.back();
  std::int64_t left = 0;
  if (!text.starts_with("0x")) return std::nullopt;
  const auto [end, error] = std::from_chars(text.data() + 2, text.data() + text.size(), left, 16);
  return error == std::errc{} && end == text.data() + text.size() ? std::optional(left) : std::nullopt;
}

}  // namespace

CodeCounts counts_of(std::span<const Instruction> code) {
  CodeCounts counts;
  GuardedAccesses accesses;
  for (const Instruction& instruction : code) {
    const OpcodeRow& row = opcode_row(instruction.opcode);
    const bool never = instruction.guard.kind == Guard::Kind::never;
    ++counts.instructions;
    ++counts.kinds[never ? InstructionKind::system : row.kind];
    ++counts.opcodes[instruction.mnemonic()];
    for (const RegisterSpan& span : instruction.writes) accesses.written(span);
    if (never) continue;
    if (const auto matrix = matrix_instruction(instruction)) ++counts.matrix[*matrix];
    if (const auto left = groups_left(instruction)) ++counts.waits[{instruction.opcode, *left}];
    if (row.kind == InstructionKind::special)
      ++counts.special[instruction.modifiers.empty() ? "" : instruction.modifiers.front()];
    if (row.memory != CodeMemory::none && row.kind != InstructionKind::matrix)
      accesses.add(instruction.guard, {row.kind, row.memory, instruction.opcode, bytes_of_thread(instruction)}, counts);
  }
  return counts;
}

}  // namespace tilescope
