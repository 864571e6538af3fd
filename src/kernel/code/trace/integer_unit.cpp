#include "kernel/code/trace/integer_unit.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <string_view>

namespace tilescope {
namespace {

using Sources = std::span<const IntegerSource>;
using M = Modifier;
using Op = IntegerOperation;

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

std::uint64_t carry_in(const IntegerCode& i, Sources predicates) {
  std::uint64_t sum = 0;
  if (!i.has(M::extended)) return 0;
  for (const IntegerSource& each : predicates) sum += each.low.value != 0 ? 1 : 0;
  return sum;
}

IntegerResult add(const IntegerCode& i, Sources all) {
  const auto [values, predicates] = split_sources(all);
  if (!all_known(values) || (i.has(M::extended) && !all_known(predicates))) return {};
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

IntegerResult multiply(const IntegerCode& i, Sources all) {
  const auto [values, predicates] = split_sources(all);
  if (values.size() < 3) return {};
  // A product with zero is known even where the other factor is not.
  const bool zero =
      (values[0].low.known && values[0].low.value == 0) || (values[1].low.known && values[1].low.value == 0);
  if ((!zero && !all_known(values.first(2))) || !values[2].low.known || (i.has(M::extended) && !all_known(predicates)))
    return {};
  const std::uint32_t a = zero ? 0 : values[0].value().value, b = zero ? 0 : values[1].value().value;
  const std::uint64_t product = i.has(M::unsigned_32)
                                    ? std::uint64_t{a} * b
                                    : static_cast<std::uint64_t>(std::int64_t{as_signed(a)} * as_signed(b));
  const std::uint16_t origin = origin_of(values.last(1));
  const IntegerSource& c = values[2];
  if (i.has(M::wide) || i.has(M::upper)) {  // the addend is a pair
    if (!c.high.known) return {};
    const std::uint64_t more = c.negative ? 0 - wide(c) : c.inverted ? ~wide(c) : wide(c);
    const std::uint64_t sum = product + more;
    const Word low = Word::of(static_cast<std::uint32_t>(sum), origin),
               high = Word::of(static_cast<std::uint32_t>(sum >> 32));
    return {.low = i.has(M::upper) ? high : low, .high = high, .predicate = flag(sum < product)};
  }
  const std::uint64_t sum = (product & 0xffffffffU) + c.value().value + carry_in(i, predicates);
  const std::uint16_t moved = origin != 0 ? origin : (i.has(M::moves) || i.has(M::adds)) ? origin_of(values) : 0;
  return {.low = Word::of(static_cast<std::uint32_t>(sum), moved), .predicate = flag(sum >> 32 != 0)};
}

IntegerResult scaled_add(const IntegerCode& i, Sources all) {
  const auto [values, predicates] = split_sources(all);
  if (!all_known(values) || (i.has(M::extended) && !all_known(predicates)) || values.size() < 3) return {};
  const bool sign = i.has(M::sign_extended), upper = i.has(M::upper);
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

IntegerResult funnel_shift(const IntegerCode& i, Sources s) {
  if (s.size() < 3 || !s[1].low.known) return {};
  const bool left = i.has(M::left), upper = i.has(M::upper), is_wide = i.has(M::unsigned_64) || i.has(M::signed_64);
  const bool arithmetic = i.has(M::signed_32) || i.has(M::signed_64);
  const std::uint32_t limit = is_wide ? 63 : 32;
  const std::uint32_t n = i.has(M::wraps) ? s[1].low.value & 31 : std::min(s[1].low.value, limit);
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
bool holds(Relation relation, T a, T b) {
  switch (relation) {
    case Relation::less:
      return a < b;
    case Relation::less_equal:
      return a <= b;
    case Relation::greater:
      return a > b;
    case Relation::greater_equal:
      return a >= b;
    case Relation::equal:
      return a == b;
    default:
      return a != b;
  }
}

IntegerResult compare(const IntegerCode& i, Sources s) {
  const Relation relation = i.relation;
  if (relation == Relation::none || s.size() < 3) return {};
  const Word more = s[2].low;
  const bool any = i.has(M::any);
  // A known second condition may decide alone.
  if (more.known && ((any && more.value != 0) || (!any && !i.has(M::exclusive) && more.value == 0)))
    return {.predicate = flag(any), .second = {}};
  if (!s[0].low.known || !s[1].low.known) return {};
  const std::uint32_t a = s[0].value().value, b = s[1].value().value;
  bool result = i.has(M::unsigned_32) ? holds(relation, a, b) : holds(relation, as_signed(a), as_signed(b));
  if (i.has(M::with_lower)) {  // of pairs: the lower words decide where the upper ones are equal
    if (s.size() < 4 || (a == b && !s[3].low.known)) return {};
    if (a == b) result = s[3].low.value != 0;
    else if (relation == Relation::equal) result = false;
    else if (relation == Relation::not_equal) result = true;
  }
  // And so may the first.
  if (!more.known && !i.has(M::exclusive) && result == any) return {.predicate = flag(any), .second = {}};
  if (!more.known) return {};
  const bool with = more.value != 0;
  const bool all = i.has(M::exclusive) ? result != with : any ? result || with : result && with;
  const bool other = i.has(M::exclusive) ? !result != with : any ? !result || with : !result && with;
  return {.predicate = flag(all), .second = flag(other)};
}

IntegerResult least_or_most(const IntegerCode& i, Sources all) {
  const auto [values, predicates] = split_sources(all);
  if (!all_known(values) || predicates.empty() || !predicates[0].low.known || values.size() < 2) return {};
  const bool least = predicates[0].low.value != 0, is_unsigned = i.has(M::unsigned_32);
  std::uint32_t first = values[0].value().value;
  std::size_t next = 1;
  if (i.operation == Op::least_or_most_of_sum) first += values[1].value().value, next = 2;
  for (; next < values.size(); ++next) {
    const std::uint32_t other = values[next].value().value;
    const bool less = is_unsigned ? other < first : as_signed(other) < as_signed(first);
    if (less == least) first = other;
  }
  if (i.has(M::nonnegative) && as_signed(first) < 0) first = 0;
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
IntegerResult convert(const IntegerCode& i, Sources s) {
  if (s.empty() || !s[0].low.known) return {};
  const std::uint32_t bits = s[0].value().value;
  const bool is_wide = i.has(M::unsigned_64) || i.has(M::signed_64);
  if (i.operation == Op::from_integer) {
    if (is_wide && !s[0].high.known) return {};
    if (i.has(M::float_64) || i.has(M::float_16)) return {};
    const double exact = is_wide ? static_cast<double>(wide(s[0])) : i.has(M::unsigned_32) ? bits : as_signed(bits);
    auto rounded = static_cast<float>(exact);
    if (i.has(M::rounds_up) && static_cast<double>(rounded) < exact) rounded = std::nextafter(rounded, HUGE_VALF);
    return {.low = Word::of(std::bit_cast<std::uint32_t>(rounded))};
  }
  const double number = std::bit_cast<float>(bits);
  if (i.has(M::float_64) || i.has(M::float_16) || !(std::abs(number) < 1.8e19)) return {};
  if (is_wide) {
    const std::uint64_t whole = number <= 0 ? 0 : static_cast<std::uint64_t>(number);
    return {.low = Word::of(static_cast<std::uint32_t>(whole)),
            .high = Word::of(static_cast<std::uint32_t>(whole >> 32))};
  }
  if (i.has(M::unsigned_32))
    return {.low = Word::of(number <= 0 ? 0U : number >= 4294967295.0 ? ~0U : static_cast<std::uint32_t>(number))};
  if (std::abs(number) >= 2147483647.0) return {};
  return {.low = Word::of(static_cast<std::uint32_t>(static_cast<std::int32_t>(number)))};
}

std::uint32_t reversed_bits(std::uint32_t a) {
  std::uint32_t reversed = 0;
  for (unsigned bit = 0; bit < 32; ++bit) reversed |= (a >> bit & 1) << (31 - bit);
  return reversed;
}

IntegerResult first_bit(const IntegerCode& i, std::uint32_t a) {
  const std::uint32_t x = i.has(M::unsigned_32) || as_signed(a) >= 0 ? a : ~a;
  if (x == 0) return {.low = Word::of(~0U)};
  const auto zeros = static_cast<std::uint32_t>(std::countl_zero(x));
  return {.low = Word::of(i.has(M::from_top) ? zeros : 31 - zeros)};
}

IntegerResult extend_sign(const IntegerCode& i, std::uint32_t a, std::uint32_t bits) {
  const std::uint32_t n = std::min<std::uint32_t>(bits, 32);
  if (n == 32) return {.low = Word::of(a)};
  const std::uint32_t kept = a & ((1U << n) - 1);
  const bool sign = !i.has(M::unsigned_32) && n > 0 && (a >> (n - 1) & 1) != 0;
  return {.low = Word::of(sign ? kept | ~((1U << n) - 1) : kept)};
}

IntegerResult bits_of(const IntegerCode& i, Sources s) {
  if (!all_known(split_sources(s).values)) return {};
  const std::uint32_t a = s[0].value().value;
  switch (i.operation) {
    case Op::absolute:
      return {.low = Word::of(as_signed(a) < 0 ? 0 - a : a)};
    case Op::count_bits:
      return {.low = Word::of(static_cast<std::uint32_t>(std::popcount(a)))};
    case Op::reverse_bits:
      return {.low = Word::of(reversed_bits(a))};
    case Op::first_bit:
      return first_bit(i, a);
    default:
      return s.size() > 1 ? extend_sign(i, a, s[1].low.value) : IntegerResult{};
  }
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

IntegerCode::IntegerCode(const Instruction& i) : modifiers(i) {
  struct Named {
    std::string_view name;
    Op operation;
  };
  constexpr Named operations[] = {{"MOV", Op::move},
                                  {"R2UR", Op::move},
                                  {"IADD3", Op::add},
                                  {"VIADD", Op::add},
                                  {"IADD", Op::add},
                                  {"IMAD", Op::multiply},
                                  {"IMUL", Op::multiply},
                                  {"LEA", Op::scaled_add},
                                  {"SHF", Op::shift},
                                  {"LOP3", Op::logic},
                                  {"PLOP3", Op::predicate_logic},
                                  {"ISETP", Op::compare},
                                  {"SEL", Op::select},
                                  {"IMNMX", Op::least_or_most},
                                  {"VIADDMNMX", Op::least_or_most_of_sum},
                                  {"PRMT", Op::permute},
                                  {"I2F", Op::from_integer},
                                  {"I2FP", Op::from_integer},
                                  {"F2I", Op::to_integer},
                                  {"IABS", Op::absolute},
                                  {"POPC", Op::count_bits},
                                  {"BREV", Op::reverse_bits},
                                  {"FLO", Op::first_bit},
                                  {"SGXT", Op::extend_sign}};
  constexpr std::string_view relations[] = {"LT", "LE", "GT", "GE", "EQ", "NE"};
  const std::string_view name = plain_name(i.opcode);
  for (const Named& each : operations)
    if (each.name == name) operation = each.operation;
  if (name.starts_with("VIMNMX")) operation = Op::least_or_most;
  if (name == "MUFU" && std::find(i.modifiers.begin(), i.modifiers.end(), "RCP") != i.modifiers.end())
    operation = Op::reciprocal;
  if (operation == Op::compare && !i.modifiers.empty())
    for (std::size_t k = 0; k < std::size(relations); ++k)
      if (i.modifiers.front() == relations[k]) relation = static_cast<Relation>(k + 1);
}

IntegerResult integer_result(const IntegerCode& i, std::span<const IntegerSource> s) {
  if (s.empty()) return {};
  switch (i.operation) {
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
    case Op::least_or_most_of_sum:
      return least_or_most(i, s);
    case Op::permute:
      return permute(s);
    case Op::from_integer:
    case Op::to_integer:
      return convert(i, s);
    case Op::absolute:
    case Op::count_bits:
    case Op::reverse_bits:
    case Op::first_bit:
    case Op::extend_sign:
      return bits_of(i, s);
    case Op::reciprocal:
      if (!s[0].low.known) return {};
      return {.low = Word::of(std::bit_cast<std::uint32_t>(1.0F / std::bit_cast<float>(s[0].value().value)))};
  }
  return {};
}

}  // namespace tilescope
