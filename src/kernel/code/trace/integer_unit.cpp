#include "kernel/code/trace/integer_unit.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <string_view>

namespace tilescope {
namespace {

using Sources = std::span<const IntegerSource>;

bool all_known(Sources sources) {
  return std::all_of(sources.begin(), sources.end(), [](const IntegerSource& each) { return each.low.known; });
}

std::uint16_t origin_of(Sources sources) {
  for (const IntegerSource& each : sources)
    if (each.low.known && each.low.origin != 0 && !each.negative) return each.low.origin;
  return 0;
}

Word flag(bool value) { return Word::of(value ? 1 : 0); }
std::int32_t as_signed(std::uint32_t value) { return static_cast<std::int32_t>(value); }
std::uint64_t wide(const IntegerSource& source) { return std::uint64_t{source.high.value} << 32 | source.low.value; }

// The sources before the predicates that follow them, and these.
struct Split {
  Sources values, predicates;
};
Split split_sources(Sources sources) {
  std::size_t count = 0;
  while (count < sources.size() && !sources[count].predicate) ++count;
  return {sources.first(count), sources.subspan(count)};
}

std::uint64_t carry_in(const Instruction& i, Sources predicates) {
  std::uint64_t sum = 0;
  if (!i.has("X")) return 0;
  for (const IntegerSource& each : predicates) sum += each.low.value != 0 ? 1 : 0;
  return sum;
}

IntegerResult add(const Instruction& i, Sources all) {
  const auto [values, predicates] = split_sources(all);
  if (!all_known(values) || (i.has("X") && !all_known(predicates))) return {};
  std::uint64_t sum = carry_in(i, predicates);
  for (const IntegerSource& each : values) {
    const std::uint32_t plain = each.low.value;
    sum += each.negative ? std::uint64_t{~plain} + 1 : each.inverted ? std::uint64_t{~plain} : std::uint64_t{plain};
  }
  const std::uint64_t carry = sum >> 32;
  return {.low = Word::of(static_cast<std::uint32_t>(sum), origin_of(values)),
          .predicate = flag(carry > 0),
          .second = flag(carry > 1)};
}

IntegerResult multiply(const Instruction& i, Sources all) {
  const auto [values, predicates] = split_sources(all);
  if (values.size() < 3) return {};
  // A product with zero is known even where the other factor is not.
  const bool zero =
      (values[0].low.known && values[0].low.value == 0) || (values[1].low.known && values[1].low.value == 0);
  if ((!zero && !all_known(values.first(2))) || !values[2].low.known || (i.has("X") && !all_known(predicates)))
    return {};
  const std::uint32_t a = zero ? 0 : values[0].value().value, b = zero ? 0 : values[1].value().value;
  const std::uint64_t product =
      i.has("U32") ? std::uint64_t{a} * b : static_cast<std::uint64_t>(std::int64_t{as_signed(a)} * as_signed(b));
  const std::uint16_t origin = origin_of(values.last(1));
  const IntegerSource& c = values[2];
  if (i.has("WIDE") || i.has("HI")) {  // the addend is a pair
    if (!c.high.known) return {};
    const std::uint64_t more = c.negative ? 0 - wide(c) : c.inverted ? ~wide(c) : wide(c);
    const std::uint64_t sum = product + more;
    const Word low = Word::of(static_cast<std::uint32_t>(sum), origin),
               high = Word::of(static_cast<std::uint32_t>(sum >> 32));
    return {.low = i.has("HI") ? high : low, .high = high, .predicate = flag(sum < product)};
  }
  const std::uint64_t sum = (product & 0xffffffffU) + c.value().value + carry_in(i, predicates);
  const std::uint16_t moved = origin != 0 ? origin : (i.has("MOV") || i.has("IADD")) ? origin_of(values) : 0;
  return {.low = Word::of(static_cast<std::uint32_t>(sum), moved), .predicate = flag(sum >> 32 != 0)};
}

IntegerResult scaled_add(const Instruction& i, Sources all) {
  const auto [values, predicates] = split_sources(all);
  if (!all_known(values) || (i.has("X") && !all_known(predicates)) || values.size() < 3) return {};
  const bool sign = i.has("SX32"), upper = i.has("HI");
  const std::size_t distance = upper && !sign ? 3 : 2;
  if (values.size() <= distance) return {};
  const std::uint32_t a = values[0].value().value, n = values[distance].low.value & 31;
  const std::uint32_t c = sign ? (as_signed(a) < 0 ? ~0U : 0U) : upper ? values[2].value().value : 0;
  const std::uint64_t shifted = (std::uint64_t{c} << 32 | a) << n;
  const std::uint64_t part = upper ? shifted >> 32 : shifted & 0xffffffffU;
  const IntegerSource& b = values[1];
  const std::uint64_t more = b.negative ? std::uint64_t{~b.low.value} + 1 : std::uint64_t{b.value().value};
  const std::uint64_t sum = part + more + carry_in(i, predicates);
  return {.low = Word::of(static_cast<std::uint32_t>(sum), origin_of(values.subspan(1, 1))),
          .predicate = flag(sum >> 32 != 0)};
}

IntegerResult funnel_shift(const Instruction& i, Sources s) {
  if (s.size() < 3 || !s[1].low.known) return {};
  const bool left = i.has("L"), upper = i.has("HI"), is_wide = i.has("U64") || i.has("S64");
  const bool arithmetic = i.has("S32") || i.has("S64");
  const std::uint32_t limit = is_wide ? 63 : 32;
  const std::uint32_t n = i.has("W") ? s[1].low.value & 31 : std::min(s[1].low.value, limit);
  const bool needs_low = left || !upper, needs_high = upper || !left;
  if ((needs_low && !s[0].low.known) || (needs_high && !s[2].low.known)) return {};
  const std::uint64_t both = std::uint64_t{s[2].low.value} << 32 | s[0].low.value;
  std::uint64_t shifted = 0;
  if (left) shifted = both << n;
  else if (arithmetic) shifted = static_cast<std::uint64_t>(static_cast<std::int64_t>(both) >> n);
  else shifted = both >> n;
  return {.low = Word::of(static_cast<std::uint32_t>(upper ? shifted >> 32 : shifted))};
}

IntegerResult logic(Sources s) {
  if (s.size() < 4 || !s[3].low.known) return {};
  const std::uint32_t table = s[3].low.value;
  const std::array values{s[0].value(), s[1].value(), s[2].value()};
  std::uint32_t ones = 0, zeros = 0;  // bits that an entry of the table sets or clears which unknown sources leave open
  for (unsigned entry = 0; entry < 8; ++entry) {
    std::uint32_t fits = ~0U;
    for (unsigned k = 0; k < 3; ++k)
      if (values[k].known) fits &= entry >> (2 - k) & 1 ? values[k].value : ~values[k].value;
    (table >> entry & 1 ? ones : zeros) |= fits;
  }
  const std::uint32_t result = ones & ~zeros;
  if ((ones & zeros) != 0) return {.predicate = result != 0 ? flag(true) : Word{}};
  const std::uint16_t origin = s[0].low.known && s[0].low.origin != 0 ? s[0].low.origin : s[1].low.origin;
  return {.low = Word::of(result, origin), .predicate = flag(result != 0)};
}

Word predicate_lookup(Sources s, std::uint32_t table) {
  unsigned ones = 0, zeros = 0;
  for (unsigned entry = 0; entry < 8; ++entry) {
    bool fits = true;
    for (unsigned k = 0; k < 3; ++k)
      if (s[k].low.known && s[k].low.value != (entry >> (2 - k) & 1)) fits = false;
    if (fits) (table >> entry & 1 ? ones : zeros) += 1;
  }
  return ones > 0 && zeros > 0 ? Word{} : flag(ones > 0);
}

IntegerResult predicate_logic(Sources s) {
  if (s.size() < 5) return {};
  return {.predicate = predicate_lookup(s, s[3].low.value), .second = predicate_lookup(s, s[4].low.value)};
}

template <class T>
bool holds(std::string_view relation, T a, T b) {
  if (relation == "LT") return a < b;
  if (relation == "LE") return a <= b;
  if (relation == "GT") return a > b;
  if (relation == "GE") return a >= b;
  if (relation == "EQ") return a == b;
  return a != b;  // NE
}

IntegerResult compare(const Instruction& i, Sources s) {
  constexpr std::string_view names[] = {"LT", "LE", "GT", "GE", "EQ", "NE"};
  if (i.modifiers.empty() || s.size() < 3) return {};
  const std::string_view relation = i.modifiers.front();
  if (std::find(std::begin(names), std::end(names), relation) == std::end(names)) return {};
  const Word more = s[2].low;
  const bool any = i.has("OR");
  // A known second condition may decide alone.
  if (more.known && ((any && more.value != 0) || (!any && !i.has("XOR") && more.value == 0)))
    return {.predicate = flag(any), .second = {}};
  if (!s[0].low.known || !s[1].low.known) return {};
  const std::uint32_t a = s[0].value().value, b = s[1].value().value;
  bool result = i.has("U32") ? holds(relation, a, b) : holds(relation, as_signed(a), as_signed(b));
  if (i.has("EX")) {  // of pairs: the lower words decide where the upper ones are equal
    if (s.size() < 4 || (a == b && !s[3].low.known)) return {};
    if (a == b) result = s[3].low.value != 0;
    else if (relation == "EQ") result = false;
    else if (relation == "NE") result = true;
  }
  // And so may the first.
  if (!more.known && !i.has("XOR") && result == any) return {.predicate = flag(any), .second = {}};
  if (!more.known) return {};
  const bool with = more.value != 0;
  const bool all = i.has("XOR") ? result != with : any ? result || with : result && with;
  const bool other = i.has("XOR") ? !result != with : any ? !result || with : !result && with;
  return {.predicate = flag(all), .second = flag(other)};
}

IntegerResult least_or_most(const Instruction& i, Sources all) {
  const auto [values, predicates] = split_sources(all);
  if (!all_known(values) || predicates.empty() || !predicates[0].low.known || values.size() < 2) return {};
  const bool least = predicates[0].low.value != 0, is_unsigned = i.has("U32");
  std::uint32_t first = values[0].value().value;
  std::size_t next = 1;
  if (i.opcode == "VIADDMNMX") first += values[1].value().value, next = 2;
  for (; next < values.size(); ++next) {
    const std::uint32_t other = values[next].value().value;
    const bool less = is_unsigned ? other < first : as_signed(other) < as_signed(first);
    if (less == least) first = other;
  }
  if (i.has("RELU") && as_signed(first) < 0) first = 0;
  return {.low = Word::of(first)};
}

IntegerResult permute(Sources s) {
  if (s.size() < 3 || !s[1].low.known) return {};
  std::uint32_t result = 0;
  for (unsigned byte = 0; byte < 4; ++byte) {
    const std::uint32_t which = s[1].low.value >> (4 * byte) & 15;
    const Word& from = (which & 7) < 4 ? s[0].low : s[2].low;
    if (!from.known) return {};
    std::uint32_t taken = from.value >> (8 * (which & 3)) & 255;
    if (which & 8) taken = taken & 128 ? 255 : 0;
    result |= taken << (8 * byte);
  }
  return {.low = Word::of(result)};
}

IntegerResult select(Sources s) {
  if (s.size() < 3 || !s[2].low.known) return {};
  const IntegerSource& taken = s[s[2].low.value != 0 ? 0 : 1];
  if (!taken.low.known) return {};
  return {.low = taken.value()};
}

// Conversions, as integer divisions use them.
IntegerResult convert(const Instruction& i, Sources s) {
  if (s.empty() || !s[0].low.known) return {};
  const std::uint32_t bits = s[0].value().value;
  const bool is_wide = i.has("U64") || i.has("S64");
  if (is_wide && i.opcode == "I2F" && !s[0].high.known) return {};
  if (i.opcode == "I2F" || i.opcode == "I2FP") {
    if (i.has("F64") || i.has("F16")) return {};
    const double exact = is_wide ? static_cast<double>(wide(s[0])) : i.has("U32") ? bits : as_signed(bits);
    auto rounded = static_cast<float>(exact);
    if (i.has("RP") && static_cast<double>(rounded) < exact) rounded = std::nextafter(rounded, HUGE_VALF);
    return {.low = Word::of(std::bit_cast<std::uint32_t>(rounded))};
  }
  const double number = std::bit_cast<float>(bits);
  if (i.has("F64") || i.has("F16") || !(std::abs(number) < 1.8e19)) return {};
  if (is_wide) {
    const std::uint64_t whole = number <= 0 ? 0 : static_cast<std::uint64_t>(number);
    return {.low = Word::of(static_cast<std::uint32_t>(whole)),
            .high = Word::of(static_cast<std::uint32_t>(whole >> 32))};
  }
  if (i.has("U32"))
    return {.low = Word::of(number <= 0 ? 0U : number >= 4294967295.0 ? ~0U : static_cast<std::uint32_t>(number))};
  if (std::abs(number) >= 2147483647.0) return {};
  return {.low = Word::of(static_cast<std::uint32_t>(static_cast<std::int32_t>(number)))};
}

IntegerResult bits_of(const Instruction& i, Sources s, std::string_view name) {
  if (s.empty() || !all_known(split_sources(s).values)) return {};
  const std::uint32_t a = s[0].value().value;
  if (name == "IABS") return {.low = Word::of(as_signed(a) < 0 ? 0 - a : a)};
  if (name == "POPC") return {.low = Word::of(static_cast<std::uint32_t>(std::popcount(a)))};
  if (name == "BREV") {
    std::uint32_t reversed = 0;
    for (unsigned bit = 0; bit < 32; ++bit) reversed |= (a >> bit & 1) << (31 - bit);
    return {.low = Word::of(reversed)};
  }
  if (name == "FLO") {
    const std::uint32_t x = i.has("U32") || as_signed(a) >= 0 ? a : ~a;
    if (x == 0) return {.low = Word::of(~0U)};
    const auto zeros = static_cast<std::uint32_t>(std::countl_zero(x));
    return {.low = Word::of(i.has("SH") ? zeros : 31 - zeros)};
  }
  if (name == "SGXT" && s.size() > 1) {
    const std::uint32_t n = std::min<std::uint32_t>(s[1].low.value, 32);
    if (n == 32) return {.low = Word::of(a)};
    const std::uint32_t kept = a & ((1U << n) - 1);
    const bool sign = !i.has("U32") && n > 0 && (a >> (n - 1) & 1) != 0;
    return {.low = Word::of(sign ? kept | ~((1U << n) - 1) : kept)};
  }
  return {};
}

// The opcode of the warp-wide twin of a uniform instruction.
std::string_view plain_name(std::string_view name) {
  constexpr std::string_view uniform[] = {"UIADD3", "UIMAD",  "ULEA",  "USHF",  "ULOP3",  "UPLOP3",
                                          "UISETP", "UIMNMX", "UPRMT", "USEL",  "UMOV",   "USGXT",
                                          "UFLO",   "UPOPC",  "UBREV", "UIABS", "UVIMNMX"};
  if (std::find(std::begin(uniform), std::end(uniform), name) != std::end(uniform)) name.remove_prefix(1);
  return name;
}

}  // namespace

Word IntegerSource::value() const {
  Word word = low;
  if (predicate || !word.known) return word;
  if (magnitude && as_signed(word.value) < 0) word.value = 0 - word.value;
  if (negative) word.value = 0 - word.value;
  if (inverted) word.value = ~word.value;
  if (negative || inverted) word.origin = 0;
  return word;
}

IntegerOperation integer_operation(const Instruction& i) {
  using Op = IntegerOperation;
  const std::string_view name = plain_name(i.opcode);
  if (name == "MOV" || name == "R2UR") return Op::move;
  if (name == "IADD3" || name == "VIADD" || name == "IADD") return Op::add;
  if (name == "IMAD" || name == "IMUL") return Op::multiply;
  if (name == "LEA") return Op::scaled_add;
  if (name == "SHF") return Op::shift;
  if (name == "LOP3") return Op::logic;
  if (name == "PLOP3") return Op::predicate_logic;
  if (name == "ISETP") return Op::compare;
  if (name == "SEL") return Op::select;
  if (name == "IMNMX" || name.starts_with("VIMNMX") || name == "VIADDMNMX") return Op::least_or_most;
  if (name == "PRMT") return Op::permute;
  if (name == "I2F" || name == "I2FP" || name == "F2I") return Op::convert;
  if (name == "MUFU" && i.has("RCP")) return Op::reciprocal;
  const bool bits = name == "IABS" || name == "POPC" || name == "BREV" || name == "FLO" || name == "SGXT";
  return bits ? Op::bits : Op::none;
}

IntegerResult integer_result(const Instruction& i, std::span<const IntegerSource> s) {
  return integer_result(integer_operation(i), i, s);
}

IntegerResult integer_result(IntegerOperation operation, const Instruction& i, std::span<const IntegerSource> s) {
  using Op = IntegerOperation;
  if (s.empty()) return {};
  switch (operation) {
    case Op::none:
      return {};
    case Op::move:
      return {.low = s[0].value(), .high = s[0].high};
    case Op::add:
      return add(i, s);
    case Op::multiply:
      return multiply(i, s);
    case Op::scaled_add:
      return scaled_add(i, s);
    case Op::shift:
      return funnel_shift(i, s);
    case Op::logic:
      return logic(s);
    case Op::predicate_logic:
      return predicate_logic(s);
    case Op::compare:
      return compare(i, s);
    case Op::select:
      return select(s);
    case Op::least_or_most:
      return least_or_most(i, s);
    case Op::permute:
      return permute(s);
    case Op::convert:
      return convert(i, s);
    case Op::bits:
      return bits_of(i, s, plain_name(i.opcode));
    case Op::reciprocal:
      if (!s[0].low.known) return {};
      return {.low = Word::of(std::bit_cast<std::uint32_t>(1.0F / std::bit_cast<float>(s[0].value().value)))};
  }
  return {};
}

}  // namespace tilescope
