#include "kernel/code/trace/decode.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/text.h"
#include "kernel/code/flow/blocks.h"
#include "kernel/code/sass/kinds.h"

namespace tilescope {
namespace {

using Kind = DecodedOperand::Kind;

std::optional<std::uint32_t> number_of(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  if (!text.starts_with("0x")) return std::nullopt;
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data() + 2, text.data() + text.size(), value, 16);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return negative ? 0U - value : value;
}

struct RegisterName {
  Kind kind;
  std::int16_t index;
  std::string_view suffix;  // "64" of "R2.64"
};

std::optional<RegisterName> register_of(std::string_view text) {
  const bool uniform = text.starts_with('U');
  if (uniform) text.remove_prefix(1);
  if (!text.starts_with('R') && !text.starts_with('P')) return std::nullopt;
  const bool predicate = text[0] == 'P';
  const Kind kind =
      predicate ? (uniform ? Kind::uniform_predicate : Kind::predicate) : (uniform ? Kind::uniform : Kind::general);
  text.remove_prefix(1);
  const std::size_t dot = text.find('.');
  const std::string_view name = text.substr(0, dot), suffix = dot == text.npos ? "" : text.substr(dot + 1);
  if (name == "Z" || name == "T") return RegisterName{kind, -1, suffix};
  int index = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), index);
  if (name.empty() || error != std::errc{} || end != name.data() + name.size()) return std::nullopt;
  return RegisterName{kind, static_cast<std::int16_t>(index), suffix};
}

// "R2.64+UR4+0x10", what stands between brackets.
bool add_address(std::string_view text, DecodedOperand& operand) {
  for (const std::string& part : split(text, '+')) {
    if (const auto offset = number_of(part)) {
      operand.number += *offset;
      continue;
    }
    const auto name = register_of(part);
    if (!name || name->kind == Kind::predicate || name->kind == Kind::uniform_predicate) return false;
    const bool wide = name->suffix == "64";
    if (name->kind == Kind::general) operand.base = name->index, operand.wide_base = wide;
    else operand.ubase = name->index, operand.wide_ubase = wide;
  }
  return true;
}

bool is_predicate_operand(const DecodedOperand& operand) {
  return operand.kind == Kind::predicate || operand.kind == Kind::uniform_predicate;
}

Action action_of(const Instruction& i) {
  const std::string& name = i.opcode;
  if (i.operands.empty()) return Action::none;
  if (name == "S2R" || name == "S2UR" || name == "CS2R") return Action::special;
  if (name == "LDC" || name == "ULDC" || name == "LDCU") return Action::constant;
  if (name == "LDL" || name == "LDS") return Action::load;
  if (name == "STL" || name == "STS") return Action::store;
  if (name == "SYNCS" || name == "ELECT" || name == "VOTE" || name == "VOTEU") return Action::agree;
  if (name == "P2R" || name == "R2P") return Action::predicates;
  if (name == "SHFL") return i.has("IDX") ? Action::shuffle : Action::forget;  // of another lane
  if (i.writes.empty()) return Action::none;
  using K = InstructionKind;
  const K kind = opcode_row(name).kind;
  constexpr std::string_view of_floats[] = {"FSETP", "FSET", "FMNMX",  "FSEL",  "FCHK",
                                            "F2F",   "F2FP", "HSETP2", "HMNMX2"};
  const bool named = std::find(std::begin(of_floats), std::end(of_floats), name) != std::end(of_floats);
  const bool floats = named || kind == K::matrix || kind == K::fp32 || kind == K::fp16 || kind == K::fp64 ||
                      (name == "MUFU" && !i.has("RCP"));
  return floats ? Action::forget : Action::compute;
}

TracedOpcode traced_opcode(std::string_view name) {
  using T = TracedOpcode;
  struct Named {
    std::string_view name;
    T opcode;
  };
  constexpr Named names[] = {{"BRA", T::branch},           {"EXIT", T::leave},    {"KILL", T::leave},
                             {"WARPSYNC", T::converge},    {"RET", T::come_back}, {"CALL", T::call},
                             {"LDSM", T::matrix_load},     {"SYNCS", T::barrier}, {"LDGSTS", T::copy},
                             {"UTMASTG", T::store_by_map}, {"CS2R", T::clock},    {"ELECT", T::elect},
                             {"R2P", T::set_predicates}};
  for (const Named& each : names)
    if (each.name == name) return each.opcode;
  if (name.starts_with("UTMA")) return T::copy_by_map;
  return name.starts_with("VOTE") ? T::vote : T::other;
}

bool follows_integers(InstructionKind kind) {
  using K = InstructionKind;
  return kind == K::multiply_add || kind == K::integer || kind == K::logic || kind == K::compare || kind == K::select ||
         kind == K::move || kind == K::uniform || kind == K::shuffle || kind == K::vote;
}

bool is_recorded(const Instruction& i) {
  const CodeMemory memory = opcode_row(i.opcode).memory;
  return memory == CodeMemory::global || memory == CodeMemory::global_to_shared ||
         memory == CodeMemory::shared_to_global || memory == CodeMemory::generic || i.opcode == "LDSM" ||
         i.opcode == "SYNCS";
}

}  // namespace

DecodedOperand decode_operand(std::string_view text) {
  DecodedOperand operand;
  if (text.starts_with("-0x")) {
    operand.kind = Kind::number, operand.number = *number_of(text);
    return operand;
  }
  for (; !text.empty(); text.remove_prefix(1)) {
    if (text[0] == '-') operand.negative = true;
    else if (text[0] == '~' || text[0] == '!') operand.inverted = true;
    else if (text[0] == '|') operand.magnitude = true;
    else break;
  }
  if (operand.magnitude && text.ends_with('|')) text.remove_suffix(1);
  if (const auto number = number_of(text)) {
    operand.kind = Kind::number, operand.number = *number;
    return operand;
  }
  if (const auto name = register_of(text)) {
    operand.kind = name->kind, operand.index = name->index;
    if (!name->suffix.empty() && name->suffix != "64" && name->suffix != "U32") operand.kind = Kind::other;
    return operand;
  }
  const std::size_t open = text.rfind('['), close = text.rfind(']');
  if (open == text.npos || close != text.size() - 1) return operand;
  const bool constant = text.starts_with("c[");
  if (constant) {
    const auto bank = number_of(text.substr(2, text.find(']') - 2));
    if (!bank) return operand;
    operand.bank = static_cast<std::int16_t>(*bank);
  }
  if (add_address(text.substr(open + 1, close - open - 1), operand))
    operand.kind = constant ? Kind::constant : Kind::memory;
  return operand;
}

namespace {

// A result, predicates before it (LOP3) and predicates behind it (carries). The rest are sources.
std::size_t results_of(const Instruction& instruction, const std::vector<DecodedOperand>& operands) {
  const std::string& name = instruction.opcode;
  if (instruction.writes.empty() || operands.empty()) return 0;
  std::size_t count = 0;
  if (is_predicate_operand(operands[0])) {
    while (count < operands.size() && is_predicate_operand(operands[count]) && count < 2) ++count;
    const bool comparison = name.ends_with("SETP") || name.ends_with("PLOP3");
    if (comparison) return std::min<std::size_t>(2, operands.size());
    const bool before_register =
        count == 1 && operands.size() > 1 && (operands[1].kind == Kind::general || operands[1].kind == Kind::uniform);
    return before_register && name != "VOTE" ? count + 1 : count;
  }
  if (name == "P2R" || name == "SEL" || name == "VOTEU" || name == "VOTE") return 1;
  count = 1;
  while (count < operands.size() && is_predicate_operand(operands[count])) ++count;
  return count;
}

}  // namespace

DecodedInstruction decode(const Instruction& instruction) {
  DecodedInstruction decoded;
  for (const std::string& operand : instruction.operands) decoded.operands.push_back(decode_operand(operand));
  decoded.results = results_of(instruction, decoded.operands);
  decoded.action = action_of(instruction);
  decoded.opcode = traced_opcode(instruction.opcode);
  decoded.code = IntegerCode(instruction);
  const auto has = [&](Modifier modifier) { return decoded.code.has(modifier); };
  decoded.words = has(Modifier::bits_128) ? 4 : has(Modifier::bits_64) ? 2 : 1;
  for (const Modifier part : {Modifier::unsigned_8, Modifier::signed_8, Modifier::unsigned_16, Modifier::signed_16,
                              Modifier::bits_8, Modifier::bits_16})
    decoded.narrow = decoded.narrow || has(part);
  decoded.local = instruction.opcode.ends_with('L');
  const bool one = instruction.opcode == "SHF" || instruction.opcode == "USHF" || instruction.opcode == "I2F";
  decoded.writes_pair =
      !one && (has(Modifier::wide) || has(Modifier::bits_64) || has(Modifier::unsigned_64) || has(Modifier::signed_64));
  decoded.ends_block = transfer_of(instruction).ends_block;
  decoded.recorded = is_recorded(instruction);
  const OpcodeRow& row = opcode_row(instruction.opcode);
  decoded.follows_integers = follows_integers(row.kind);
  decoded.claims = row.kind == InstructionKind::atomic && row.memory == CodeMemory::global;
  decoded.loads = row.kind == InstructionKind::load || row.kind == InstructionKind::atomic;
  return decoded;
}

}  // namespace tilescope
