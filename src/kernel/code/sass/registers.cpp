#include "kernel/code/sass/registers.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "kernel/code/sass/kinds.h"
#include "kernel/code/sass/matrix.h"

namespace tilescope {
namespace {

constexpr int most_registers = 256, all_predicates = 7;

struct RegisterWord {
  RegisterSpan span;
  bool constant = false;  // RZ, PT: reads as zero or true, ignores writes
  bool wide = false;      // ".64": a pair
  std::size_t place = 0;  // in the operand's text
};

bool is_word(char c) { return c == '_' || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); }

// The register that `word` names, "UR12" or "PT"; nothing for other words.
std::optional<RegisterWord> register_word(std::string_view word) {
  constexpr std::pair<std::string_view, RegisterFile> files[] = {{"UR", RegisterFile::uniform},
                                                                 {"UP", RegisterFile::uniform_predicate},
                                                                 {"R", RegisterFile::general},
                                                                 {"P", RegisterFile::predicate},
                                                                 {"B", RegisterFile::convergence}};
  if (word == "PR") return RegisterWord{.span = {RegisterFile::predicate, 0, all_predicates}};
  for (const auto& [prefix, file] : files) {
    if (!word.starts_with(prefix)) continue;
    const std::string_view number = word.substr(prefix.size());
    const bool truth = file == RegisterFile::predicate || file == RegisterFile::uniform_predicate;
    if (number == (truth ? "T" : "Z")) return RegisterWord{.span = {file, 0, 1}, .constant = true};
    int index = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), index);
    if (number.empty() || end != number.data() + number.size()) continue;
    return RegisterWord{.span = {file, error == std::errc{} ? index : most_registers, 1}};
  }
  return std::nullopt;
}

std::vector<RegisterWord> register_words(std::string_view operand) {
  std::vector<RegisterWord> found;
  if (operand.starts_with('`') || operand.starts_with("SR")) return found;
  for (std::size_t at = 0; at < operand.size();) {
    std::size_t end = at;
    while (end < operand.size() && is_word(operand[end])) ++end;
    if (end == at) {
      ++at;
      continue;
    }
    const bool suffix = at > 0 && operand[at - 1] == '.';
    if (auto word = register_word(operand.substr(at, end - at)); word && !suffix) {
      word->wide = operand.substr(end).starts_with(".64");
      word->place = at;
      found.push_back(*word);
    }
    at = end;
  }
  return found;
}

int copied_words(const Instruction& instruction) {  // registers of "x64" of tensor memory's loads and stores
  int count = 1, factor = 1;
  for (const std::string& modifier : instruction.modifiers) {
    if (modifier.ends_with("dp256bit")) factor = 4;
    if (modifier.ends_with("dp128bit")) factor = 2;
    if (modifier.starts_with('x') && modifier.size() <= 4)
      std::from_chars(modifier.data() + 1, modifier.data() + modifier.size(), count);
  }
  return std::clamp(count * factor, 1, most_registers);
}

int data_words(const Instruction& instruction) {
  const bool matrix = instruction.opcode == "LDSM" || instruction.opcode == "STSM";
  if (instruction.opcode == "CS2R") return instruction.has("32") ? 1 : 2;
  if (instruction.opcode == "SYNCS" && instruction.has("ARRIVE")) return 1;
  for (const std::string& modifier : instruction.modifiers) {
    if (modifier == "128" || modifier == "F32x4" || (matrix && modifier == "4")) return 4;
    if (modifier == "96") return 3;
    if (modifier == "64" || modifier == "F32x2" || modifier == "F64" || (matrix && modifier == "2")) return 2;
  }
  return 1;
}

bool is_pair(std::string_view modifier) { return modifier == "F64" || modifier == "S64" || modifier == "U64"; }

// F2F.F32.F64 names the result's format, then the source's; F2I.U64 and I2F.U64 one of them.
bool pair_in_conversion(const Instruction& instruction, bool result) {
  const std::vector<std::string>& names = instruction.modifiers;
  if (std::none_of(names.begin(), names.end(), is_pair)) return false;
  const auto format = [](std::string_view name) {
    return bool(name.size() >= 2 && name.size() <= 4 && std::string_view("FSUB").find(name[0]) != name.npos &&
                name.back() >= '0' && name.back() <= '9');
  };
  std::vector<std::string> formats;
  std::copy_if(names.begin(), names.end(), std::back_inserter(formats), format);
  if (formats.size() > 1) return is_pair(formats[result ? 0 : 1]);
  const bool integer_pair = formats.empty() || formats[0] != "F64";
  if (instruction.opcode == "F2I") return result == integer_pair;
  if (instruction.opcode == "I2F") return result != integer_pair;
  return true;
}

int matrix_words(const Instruction& instruction, std::size_t operand) {
  const auto matrix = matrix_instruction(instruction);
  if (!matrix) return 1;
  const auto words = [&](std::int64_t rows, std::int64_t columns, std::int64_t bits) {
    return static_cast<int>(std::min<std::int64_t>(most_registers, matrix->registers_of(rows, columns, bits)));
  };
  const bool warpgroup = matrix->threads > 32;
  if (operand == 0 || operand == 3 || (warpgroup && operand == 2))
    return words(matrix->m, matrix->n, matrix->result_bits);
  if (operand == 1) return words(matrix->m, matrix->k, matrix->sparse ? matrix->bits_a / 2 : matrix->bits_a);
  if (operand == 2) return words(matrix->n, matrix->k, matrix->bits_b);
  return 1;
}

// Registers in a row of a general or uniform register that stands alone in an operand.
int words_of(const Instruction& instruction, const OpcodeRow& row, std::size_t operand, bool result) {
  const std::size_t last = instruction.operands.size() - 1;
  switch (row.width) {
    case OperandWidth::word:
      break;
    case OperandWidth::data:
      return data_words(instruction);
    case OperandWidth::wide:
      return 2;
    case OperandWidth::matrix:
      return matrix_words(instruction, operand);
    case OperandWidth::wide_sum: {
      const bool sum =
          instruction.has("WIDE") && (result || operand == last || (operand + 1 == last && instruction.has("X")));
      return sum ? 2 : 1;
    }
    case OperandWidth::conversion:
      return pair_in_conversion(instruction, result) ? 2 : 1;
    case OperandWidth::tensor_copy:
      return copied_words(instruction);
  }
  const bool pairs =
      instruction.has("64") && (row.kind == InstructionKind::uniform || row.kind == InstructionKind::move ||
                                row.kind == InstructionKind::integer);
  if (pairs) return 2;
  return instruction.opcode == "RET" || instruction.opcode == "BRX" || instruction.opcode == "JMX" ? 2 : 1;
}

// A register within an address or a descriptor.
RegisterSpan address_registers(const Instruction& instruction, const OpcodeRow& row, std::string_view operand,
                               std::size_t index, const RegisterWord& word) {
  RegisterSpan span = word.span;
  if (operand.starts_with("gdesc")) {  // descriptors of A and B, 64 bits each; with A in registers, the second is used
    const bool both = index == 1;
    return {span.file, span.first + (both ? 0 : 2), both ? 4 : 2};
  }
  if (operand.starts_with("c[")) return span;
  const bool descriptor = operand.starts_with("desc") && word.place < operand.find(']');
  const bool extended = row.memory == CodeMemory::generic && instruction.has("E");
  if (row.kind == InstructionKind::async_copy && span.file == RegisterFile::uniform && !operand.starts_with("desc")) {
    constexpr int place_and_barrier = 2;
    int coordinates = 0;
    for (const std::string& modifier : instruction.modifiers)
      if (modifier.size() == 2 && modifier[1] == 'D' && modifier[0] >= '1' && modifier[0] <= '5')
        coordinates = modifier[0] - '0';
    span.count = index == 0 && row.opcode != "LDGSTS" ? place_and_barrier + coordinates : 2;
    return span;
  }
  if (descriptor || word.wide || extended) span.count = 2;
  return span;
}

// Number of leading operands that are results.
std::size_t results_of(const Instruction& instruction, ResultOperands rule) {
  const std::vector<std::string>& operands = instruction.operands;
  const auto whole = [&](std::size_t i) -> std::optional<RegisterWord> {  // an operand that is one register as it is
    const std::string_view text = operands[i];
    std::size_t end = 0;
    while (end < text.size() && is_word(text[end])) ++end;
    return end == 0 || (end < text.size() && text[end] != '.') ? std::nullopt : register_word(text.substr(0, end));
  };
  const auto predicate = [&](std::size_t i) {
    const auto word = whole(i);
    return word && (word->span.file == RegisterFile::predicate || word->span.file == RegisterFile::uniform_predicate) &&
           word->span.count == 1;
  };
  std::size_t count = 0;
  switch (rule) {
    case ResultOperands::none:
      return 0;
    case ResultOperands::predicates:
      while (count < std::min<std::size_t>(2, operands.size()) && predicate(count)) ++count;
      return count;
    case ResultOperands::all_but_last:
      return operands.empty() ? 0 : operands.size() - 1;
    case ResultOperands::one:
      break;
  }
  while (count < operands.size() && predicate(count)) ++count;
  if (count == operands.size() || !whole(count)) return count;
  ++count;
  while (count < operands.size() && predicate(count)) ++count;
  return count;
}

}  // namespace

bool add_registers(Instruction& instruction) {
  instruction.reads.clear(), instruction.writes.clear();
  const OpcodeRow& row = opcode_row(instruction.opcode);
  const std::size_t results = results_of(instruction, row.results);
  if (instruction.guard.kind == Guard::Kind::predicate) instruction.reads.push_back(instruction.guard.predicate);
  for (std::size_t i = 0; i < instruction.operands.size(); ++i) {
    const std::string_view operand = instruction.operands[i];
    const bool address = operand.find('[') != operand.npos;
    for (const RegisterWord& word : register_words(operand)) {
      RegisterSpan span = word.span;
      const bool number = span.file == RegisterFile::general || span.file == RegisterFile::uniform;
      if (address) span = address_registers(instruction, row, operand, i, word);
      else if (number) span.count = words_of(instruction, row, i, i < results);
      if (span.first >= most_registers) return false;
      if (!word.constant) (i < results && !address ? instruction.writes : instruction.reads).push_back(span);
    }
  }
  return true;
}

int bytes_of_thread(const Instruction& instruction) {
  const OpcodeRow& row = opcode_row(instruction.opcode);
  if (row.width == OperandWidth::tensor_copy) return 4 * copied_words(instruction);
  const bool moves = row.kind == InstructionKind::load || row.kind == InstructionKind::store ||
                     row.kind == InstructionKind::atomic || row.kind == InstructionKind::async_copy;
  if (row.width != OperandWidth::data || !moves) return 0;
  const bool matrix = instruction.opcode == "LDSM" || instruction.opcode == "STSM";
  for (const std::string& modifier : instruction.modifiers) {
    if (!matrix && (modifier == "U8" || modifier == "S8")) return 1;
    if (!matrix && (modifier == "U16" || modifier == "S16")) return 2;
  }
  return 4 * data_words(instruction);
}

}  // namespace tilescope
