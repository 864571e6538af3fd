#include "kernel/code/summary/thread_arithmetic.h"

#include <algorithm>
#include <charconv>
#include <string_view>

namespace tilescope {
namespace {

using Lane = std::uint32_t;

template <class Make>
ThreadValue for_threads(Make make) {
  ThreadValue value{};
  for (std::size_t i = 0; i < value.size(); ++i) value[i] = make(i);
  return value;
}

ThreadValue thread_index() {
  return for_threads([](std::size_t i) {
    return static_cast<Lane>(i / threads_followed * warp_threads + followed_lanes[i % threads_followed]);
  });
}

ThreadValue first_lane(const ThreadValue& value) {
  return for_threads([&](std::size_t i) { return value[i / threads_followed * threads_followed]; });
}

// The sources of an instruction, from the first that is not a result on.
class Sources {
 public:
  Sources(const Instruction& instruction, const KnownValue& known) : instruction_(instruction), known_(known) {}

  // The value of operand `index`: a register, a constant or a predicate, with its sign or negation.
  std::optional<ThreadValue> at(std::size_t index) const {
    if (index >= instruction_.operands.size()) return std::nullopt;
    std::string_view text = instruction_.operands[index];
    char sign = 0;
    if (text.starts_with('-') || text.starts_with('~') || text.starts_with('!')) {
      sign = text[0];
      text.remove_prefix(1);
    }
    auto value = plain(text);
    if (!value || sign == 0) return value;
    for (Lane& lane : *value) lane = sign == '-' ? Lane{0} - lane : sign == '~' ? ~lane : Lane{lane == 0};
    return value;
  }

 private:
  std::optional<ThreadValue> plain(std::string_view text) const {
    if (text == "RZ" || text == "URZ") return uniform_value(0);
    if (text == "PT" || text == "UPT") return uniform_value(1);
    if (text.starts_with("0x")) {
      Lane number = 0;
      const auto [end, error] = std::from_chars(text.data() + 2, text.data() + text.size(), number, 16);
      if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
      return uniform_value(number);
    }
    for (const RegisterSpan& span : instruction_.reads)
      if (RegisterSpan single{span.file, span.first, 1}; to_string(single) == text) return known_(single);
    return std::nullopt;
  }

  const Instruction& instruction_;
  const KnownValue& known_;
};

template <class Combine, class... Values>
std::optional<ThreadValue> combined(Combine combine, const Values&... values) {
  if (!(values.has_value() && ...)) return std::nullopt;
  return for_threads([&](std::size_t i) { return static_cast<Lane>(combine((*values)[i]...)); });
}

Lane lookup(Lane table, Lane a, Lane b, Lane c) {  // of three-input logic, bit by bit
  Lane result = 0;
  for (int entry = 0; entry < 8; ++entry)
    if (table >> entry & 1) result |= (entry & 4 ? a : ~a) & (entry & 2 ? b : ~b) & (entry & 1 ? c : ~c);
  return result;
}

bool compares(std::string_view name, bool is_unsigned, Lane a, Lane b) {
  const std::int64_t left = is_unsigned ? std::int64_t{a} : static_cast<std::int32_t>(a);
  const std::int64_t right = is_unsigned ? std::int64_t{b} : static_cast<std::int32_t>(b);
  if (name == "LT") return left < right;
  if (name == "LE") return left <= right;
  if (name == "GT") return left > right;
  if (name == "GE") return left >= right;
  if (name == "EQ") return left == right;
  return left != right;  // NE
}

std::optional<ThreadValue> comparison(const Instruction& i, const Sources& from) {
  constexpr std::string_view names[] = {"LT", "LE", "GT", "GE", "EQ", "NE"};
  if (i.modifiers.empty() || i.has("EX") || i.has("U64") || i.has("S64")) return std::nullopt;
  const std::string_view name = i.modifiers.front();
  if (std::find(std::begin(names), std::end(names), name) == std::end(names)) return std::nullopt;
  const bool is_unsigned = i.has("U32"), any = i.has("OR"), differs = i.has("XOR");
  return combined(
      [&](Lane a, Lane b, Lane more) {
        const bool result = compares(name, is_unsigned, a, b), with = more != 0;
        return differs ? result != with : any ? result || with : result && with;
      },
      from.at(2), from.at(3), from.at(4));
}

// SHF.L, and SHF.R of the upper word; other forms mix two words.
std::optional<ThreadValue> shift(const Instruction& i, const Sources& from) {
  const auto clamped = [](Lane distance) { return std::min<Lane>(distance, 32); };
  if (i.has("U64") || i.has("S64") || i.has("W")) return std::nullopt;
  if (i.has("L") && !i.has("HI"))
    return combined([&](Lane a, Lane n, Lane) { return static_cast<Lane>(std::uint64_t{a} << clamped(n)); }, from.at(1),
                    from.at(2), from.at(3));
  if (!i.has("R") || !i.has("HI")) return std::nullopt;
  const bool arithmetic = i.has("S32");
  return combined(
      [&](Lane n, Lane a) {
        const std::int64_t wide = arithmetic ? static_cast<std::int32_t>(a) : std::int64_t{a};
        return static_cast<Lane>(wide >> clamped(n));
      },
      from.at(2), from.at(3));
}

// LEA: (a << n) + b. LEA.HI: the upper word of (c:a) << n, plus b; with SX32 c is the sign of a.
std::optional<ThreadValue> scaled_sum(const Instruction& i, const Sources& from) {
  if (i.has("X")) return std::nullopt;
  if (!i.has("HI"))
    return combined([](Lane a, Lane b, Lane n) { return static_cast<Lane>(std::uint64_t{a} << (n & 31)) + b; },
                    from.at(1), from.at(2), from.at(3));
  const bool sign = i.has("SX32");
  const auto upper = [&](Lane a, Lane b, Lane c, Lane n) {
    const std::uint64_t high = sign ? Lane(static_cast<std::int32_t>(a) < 0 ? ~Lane{0} : 0) : c;
    return static_cast<Lane>(((high << 32 | a) << (n & 31)) >> 32) + b;
  };
  if (sign) return combined(upper, from.at(1), from.at(2), std::optional(uniform_value(0)), from.at(3));
  return combined(upper, from.at(1), from.at(2), from.at(3), from.at(4));
}

std::optional<ThreadValue> sum(const Sources& from, std::size_t first, std::size_t count) {
  std::optional<ThreadValue> total = uniform_value(0);
  for (std::size_t i = 0; i < count; ++i)
    total = combined([](Lane a, Lane b) { return a + b; }, total, from.at(first + i));
  return total;
}

std::optional<ThreadValue> multiply_add(const Instruction& i, const Sources& from) {
  if (i.has("X") || i.has("HI") || i.has("WIDE")) return std::nullopt;
  return combined([](Lane a, Lane b, Lane c) { return a * b + c; }, from.at(1), from.at(2), from.at(3));
}

std::optional<ThreadValue> broadcast(const Sources& from) {  // SHFL.IDX of lane 0
  const auto value = from.at(2), lane = from.at(3);
  if (!value || !lane || *lane != uniform_value(0)) return std::nullopt;
  return first_lane(*value);
}

std::optional<ThreadValue> to_uniform(const Sources& from, std::size_t source) {
  const auto value = from.at(source);
  return value && first_lane(*value) == *value ? value : std::nullopt;
}

// The value of the one register or predicate that the instruction is for.
std::optional<ThreadValue> main_result(const Instruction& i, const Sources& from) {
  std::string_view name = i.opcode;
  if (name.starts_with("UI") || name.starts_with("UL") || name.starts_with("UM") || name == "USEL" || name == "USHF" ||
      name == "UPLOP3")
    name.remove_prefix(1);
  if (name == "S2R")
    return i.operands.size() == 2 && i.operands[1] == "SR_TID.X" ? std::optional(thread_index()) : std::nullopt;
  if (name == "MOV") return i.has("64") ? std::nullopt : from.at(1);
  if (name == "IMAD") return multiply_add(i, from);
  if (name == "IADD3" || name == "VIADD")
    return i.has("X") || i.has("64") ? std::nullopt : sum(from, 1, name == "IADD3" ? 3 : 2);
  if (name == "SHF") return shift(i, from);
  if (name == "LEA") return scaled_sum(i, from);
  if (name == "ISETP") return comparison(i, from);
  if (name == "SEL")
    return combined([](Lane a, Lane b, Lane which) { return which != 0 ? a : b; }, from.at(1), from.at(2), from.at(3));
  if (name == "LOP3")
    return combined([](Lane a, Lane b, Lane c, Lane t) { return lookup(t, a, b, c); }, from.at(1), from.at(2),
                    from.at(3), from.at(4));
  if (name == "PLOP3")
    return combined([](Lane a, Lane b, Lane c, Lane t) { return lookup(t, a, b, c) & 1; }, from.at(2), from.at(3),
                    from.at(4), from.at(5));
  if (name == "SHFL") return i.has("IDX") ? broadcast(from) : std::nullopt;
  if (name == "R2UR") return to_uniform(from, 1);
  return std::nullopt;
}

bool is_predicate(const RegisterSpan& span) {
  return span.file == RegisterFile::predicate || span.file == RegisterFile::uniform_predicate;
}

}  // namespace

ThreadValue uniform_value(std::uint32_t value) {
  ThreadValue lanes;
  lanes.fill(value);
  return lanes;
}

std::vector<ThreadResult> thread_results(const Instruction& instruction, const KnownValue& known) {
  if (instruction.writes.empty()) return {};
  const std::string& opcode = instruction.opcode;
  const bool logic = opcode == "LOP3" || opcode == "ULOP3";
  // Logic may also say whether its result is not zero: in a predicate before it.
  const bool leads =
      !instruction.operands.empty() && (instruction.operands[0][0] == 'P' || instruction.operands[0].starts_with("UP"));
  Instruction shifted = instruction;
  if (leads && (logic || opcode == "SHFL" || opcode == "R2UR") && shifted.operands.size() > 1) {
    if (opcode != "SHFL") shifted.operands.erase(shifted.operands.begin());
  }
  const auto value = main_result(shifted, Sources(shifted, known));
  if (!value) return {};
  std::vector<ThreadResult> results;
  const bool compares_values = opcode == "ISETP" || opcode == "UISETP" || opcode == "PLOP3" || opcode == "UPLOP3";
  for (const RegisterSpan& target : instruction.writes) {
    if (target.count != 1) continue;
    if (is_predicate(target) && compares_values && &target == &instruction.writes.front() &&
        to_string(target) == instruction.operands[0])
      results.push_back({target, *value});
    if (is_predicate(target) && logic)
      results.push_back({target, for_threads([&](std::size_t i) { return Lane{(*value)[i] != 0}; })});
    if (!is_predicate(target) && !compares_values) results.push_back({target, *value});
  }
  return results;
}

}  // namespace tilescope
