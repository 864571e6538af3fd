#include "kernel/descriptor/shapes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "base/contains.h"
#include "base/error.h"
#include "base/text.h"
#include "expr/evaluate.h"
#include "expr/parse.h"

namespace tilescope {
namespace {

class SizeLookup : public Lookup {
 public:
  explicit SizeLookup(const NamedSizes& sizes) : sizes_(sizes) {}
  double array(const std::string& name) const override { return sizes_.at(name); }
  double index(const std::string& axis) const override { throw std::logic_error("index of " + axis); }
  double size(const std::string& axis) const override { throw std::logic_error("size of " + axis); }

 private:
  const NamedSizes& sizes_;
};

bool is_zero(const Expression& divisor) {
  static const NamedSizes none;
  return divisor.arrays().empty() && evaluate(divisor, SizeLookup(none)) == 0;
}

// The parts of a text between whole words.
std::vector<std::string_view> parts_between(std::string_view text, std::string_view word) {
  std::vector<std::string_view> parts;
  const std::string spaced = fmt::format(" {} ", word);
  for (std::size_t at = text.find(spaced); at != std::string_view::npos; at = text.find(spaced)) {
    parts.push_back(text.substr(0, at));
    text.remove_prefix(at + spaced.size());
  }
  parts.push_back(text);
  return parts;
}

// No divisor is a constant zero, and every part without names is a finite number.
void check_constants(const Expression& expression) {
  static const NamedSizes none;
  for (const Expression& part : expression.operands()) check_constants(part);
  if (expression.kind() == Expression::Kind::divide && is_zero(expression.operands()[1]))
    throw std::invalid_argument(fmt::format("'{}' divides by zero; give another divisor", to_text(expression)));
  if (expression.arrays().empty() && !std::isfinite(evaluate(expression, SizeLookup(none))))
    throw std::invalid_argument(fmt::format("'{}' is no finite number", to_text(expression)));
}

Expression sizes_expression(std::string_view text, const std::vector<std::string>& names) {
  const auto parsed = parse_expression(text);
  if (const auto* error = std::get_if<ExpressionError>(&parsed))
    throw std::invalid_argument(fmt::format("'{}': {}", text, error->message));
  const auto& expression = std::get<Expression>(parsed);
  if (!expression.axes().empty()) throw std::invalid_argument("has no axes: write a size by its name");
  for (const std::string& name : expression.arrays())
    if (!contains(names, name))
      throw std::invalid_argument(fmt::format("'{}' is no size{}", name, did_you_mean(name, names)));
  check_constants(expression);
  return expression;
}

// A comparison with such a value would hold or not by accident.
[[noreturn]] void refuse_undefined(const Expression& value, const std::optional<Expression>& modulus,
                                   const NamedSizes& sizes) {
  std::string divisor = modulus ? to_text(*modulus) : "";
  if (modulus) divisor = modulus->operands().empty() ? " % " + divisor : " % (" + divisor + ")";
  std::vector<std::string> values;
  for (const auto& [name, size] : sizes)
    if (value.uses(name) || (modulus && modulus->uses(name))) values.push_back(fmt::format("{} {}", name, size));
  throw InputError(Diagnostic{
      .message = fmt::format("'{}{}' is no finite number at {}; exclude such sizes by a condition before it, joined "
                             "by `and`",
                             to_text(value), divisor, join(values, ", "))});
}

std::int64_t divided_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

}  // namespace

double Condition::Side::in(const NamedSizes& sizes) const {
  const SizeLookup lookup(sizes);
  const double whole = evaluate(value, lookup);
  const double number = modulus ? std::fmod(whole, evaluate(*modulus, lookup)) : whole;
  if (!std::isfinite(number)) refuse_undefined(value, modulus, sizes);
  return number;
}

bool Condition::Compared::holds(const NamedSizes& sizes) const {
  const double a = left.in(sizes), b = right.in(sizes);
  switch (relation) {
    case Relation::equal:
      return a == b;
    case Relation::unequal:
      return a != b;
    case Relation::less:
      return a < b;
    case Relation::at_most:
      return a <= b;
    case Relation::greater:
      return a > b;
    case Relation::at_least:
      return a >= b;
  }
  return false;
}

Condition::Side Condition::read_side(std::string_view text, const std::vector<std::string>& names) const {
  const std::size_t percent = text.find('%');
  if (percent == std::string_view::npos) return {sizes_expression(text, names), std::nullopt};
  Side side{sizes_expression(text.substr(0, percent), names), sizes_expression(text.substr(percent + 1), names)};
  const bool zero = is_zero(*side.modulus);
  if (zero || (side.modulus->arrays().empty() && !(evaluate(*side.modulus, SizeLookup({})) > 0)))
    throw std::invalid_argument(
        fmt::format("'{}'{}: expected a modulus above 0 after %", text, zero ? " divides by zero" : ""));
  return side;
}

Condition::Compared Condition::read_compared(std::string_view text, const std::vector<std::string>& names) const {
  static constexpr std::pair<std::string_view, Relation> relations[] = {
      {"==", Relation::equal},    {"!=", Relation::unequal}, {"<=", Relation::at_most},
      {">=", Relation::at_least}, {"<", Relation::less},     {">", Relation::greater}};
  for (const auto& [sign, relation] : relations)
    if (const std::size_t at = text.find(sign); at != std::string_view::npos)
      return {read_side(text.substr(0, at), names), read_side(text.substr(at + sign.size()), names), relation};
  throw std::invalid_argument(
      fmt::format("expected a comparison (== != < <= > >=), as in q_len > 1, found '{}'", text));
}

Condition::Condition(std::string_view text, const std::vector<std::string>& names) : text_(text) {
  for (const std::string_view all : parts_between(text, "or")) {
    auto& list = any_of_.emplace_back();
    for (const std::string_view one : parts_between(all, "and")) list.push_back(read_compared(one, names));
  }
}

bool Condition::holds(const NamedSizes& sizes) const {
  const auto one = [&](const Compared& compared) { return compared.holds(sizes); };
  return std::any_of(any_of_.begin(), any_of_.end(),
                     [&](const auto& list) { return std::all_of(list.begin(), list.end(), one); });
}

std::vector<std::string> Condition::names() const {
  std::vector<std::string> names;
  const auto add = [&](const Side& side) {
    for (const Expression* part : {&side.value, side.modulus ? &*side.modulus : nullptr})
      if (part)
        for (const std::string& name : part->arrays())
          if (!contains(names, name)) names.push_back(name);
  };
  for (const auto& list : any_of_)
    for (const Compared& compared : list) add(compared.left), add(compared.right);
  return names;
}

std::string Condition::values_in(const NamedSizes& sizes) const {
  std::vector<std::string> parts;
  for (const std::string& name : names()) parts.push_back(fmt::format("{} {}", name, sizes.at(name)));
  return join(parts, ", ");
}

std::int64_t chosen_splits(const HostSplits& host, std::int64_t multiprocessors, const NamedSizes& sizes) {
  const auto size = [&](const char* name) { return static_cast<std::int64_t>(sizes.at(name)); };
  std::int64_t heads = size("heads_q"), rows = size("q_len");
  if (host.packs_one_query && rows == 1 && heads > size("heads_kv"))
    rows = heads / size("heads_kv"), heads = size("heads_kv");
  const auto keys = host.keys.lower_bound(size("head_dim"));
  const std::int64_t tiles =
      divided_up(size("kv_len"), keys == host.keys.end() ? host.keys.rbegin()->second : keys->second);
  const std::int64_t blocks = size("batch") * heads * divided_up(rows, host.rows);
  const std::int64_t places = multiprocessors * host.blocks_per_sm;
  if (static_cast<double>(blocks) >= host.full * static_cast<double>(places)) return 1;
  const std::int64_t most = std::min({host.most, places, tiles});
  // Numbers that leave the largest part as long as one part fewer does are passed over.
  const auto eligible = [&](std::int64_t n) { return n == 1 || divided_up(tiles, n) != divided_up(tiles, n - 1); };
  const auto filled = [&](std::int64_t n) {
    const double waves = static_cast<double>(blocks * n) / static_cast<double>(places);
    return waves / std::ceil(waves);
  };
  double best = 0;
  for (std::int64_t n = 1; n <= most; ++n)
    if (eligible(n)) best = std::max(best, filled(n));
  for (std::int64_t n = 1; n <= most; ++n)
    if (eligible(n) && filled(n) >= host.near_best * best) return n;
  return 1;
}

const std::vector<std::string>& size_names() {
  static const std::vector<std::string> names{"batch",  "heads_q",  "heads_kv",   "q_len",
                                              "kv_len", "head_dim", "v_head_dim", "multiprocessors"};
  return names;
}

}  // namespace tilescope
