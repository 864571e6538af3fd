#include "kernel/code/sass/operands.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/text.h"

namespace tilescope {
namespace {

constexpr int predicates = 8;  // of a file of predicates; the last one is constant

std::optional<Guard> guard_of(std::string_view text) {
  Guard guard;
  if (text.starts_with('!')) guard.negated = true, text.remove_prefix(1);
  guard.predicate.file = RegisterFile::predicate;
  if (text.starts_with('U')) guard.predicate.file = RegisterFile::uniform_predicate, text.remove_prefix(1);
  if (!text.starts_with('P')) return std::nullopt;
  text.remove_prefix(1);
  if (text == "T") {
    guard.kind = guard.negated ? Guard::Kind::never : Guard::Kind::always;
    return guard;
  }
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), guard.predicate.first);
  const bool whole = !text.empty() && error == std::errc{} && end == text.data() + text.size();
  if (!whole || guard.predicate.first < 0 || guard.predicate.first >= predicates) return std::nullopt;
  guard.kind = Guard::Kind::predicate;
  return guard;
}

// Erases `part` wherever it stands. Returns whether it stood somewhere.
bool erase_all(std::string& text, std::string_view part) {
  const std::size_t size = text.size();
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at)) text.erase(at, part.size());
  return text.size() < size;
}

// Splits at commas that stand outside brackets and quotes. Sets the bits of operands with ".reuse".
std::vector<std::string> operands_of(std::string_view text, unsigned& reuse) {
  std::vector<std::string> operands;
  operands.reserve(static_cast<std::size_t>(std::count(text.begin(), text.end(), ',')) + 1);
  int depth = 0;
  std::size_t start = 0;
  const auto take = [&](std::size_t end) {
    const std::string_view part = trimmed(text.substr(start, end - start));
    start = end + 1;
    if (part.empty()) return;
    std::string& operand = operands.emplace_back(part);
    constexpr std::size_t most_flags = 32;
    const std::size_t number = operands.size() - 1;
    if (erase_all(operand, ".reuse") && number < most_flags) reuse |= 1u << number;
    if (operand.empty()) operands.pop_back();
  };
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '[' || text[at] == '(' || text[at] == '{') ++depth;
    if (text[at] == ']' || text[at] == ')' || text[at] == '}') --depth;
    if (text[at] == ',' && depth <= 0) take(at);
  }
  take(text.size());
  return operands;
}

// Removes (*"BRANCH_TARGETS .L_x_1,.L_x_2"*) from the text and returns its labels.
std::vector<std::string> take_table(std::string& text) {
  constexpr std::string_view head = "(*\"BRANCH_TARGETS ", tail = "\"*)";
  const std::size_t start = text.find(head), end = text.find(tail);
  if (start == text.npos || end == text.npos || end < start + head.size()) return {};
  std::vector<std::string> labels;
  for (const std::string& label :
       split(std::string_view(text).substr(start + head.size(), end - start - head.size()), ','))
    labels.emplace_back(trimmed(label));
  text.erase(start, end + tail.size() - start);
  return labels;
}

}  // namespace

bool parse_instruction(std::string_view text, Instruction& instruction, std::vector<std::string>& table) {
  if (text.starts_with('@')) {
    const std::size_t end = text.find(' ');
    if (end == text.npos) return false;
    const auto guard = guard_of(text.substr(1, end - 1));
    if (!guard) return false;
    instruction.guard = *guard;
    text = trimmed(text.substr(end));
  }
  table.clear();
  std::string rest;
  if (text.find('"') != text.npos) {  // few have a table
    rest = text, table = take_table(rest);
    text = rest;
  }
  const std::size_t end = std::min(text.find(' '), text.size());
  const std::string_view name = text.substr(0, end), opcode = name.substr(0, name.find('.'));
  const auto plain = [](char c) { return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; };
  if (opcode.empty() || !std::all_of(opcode.begin(), opcode.end(), plain)) return false;
  instruction.opcode = opcode;
  instruction.modifiers.clear();
  if (opcode.size() < name.size()) instruction.modifiers = split(name.substr(opcode.size() + 1), '.');
  instruction.operands = operands_of(text.substr(end), instruction.reuse);
  return true;
}

}  // namespace tilescope
