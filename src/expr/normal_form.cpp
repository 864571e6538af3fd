#include "expr/normal_form.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "expr/evaluate.h"

namespace tilescope {
namespace {

using Kind = Expression::Kind;

Expression power(const Expression& base, int exponent) {
  if (exponent == 1) return base;
  if (exponent == 2) return Expression::call(Function::square, {base});
  constexpr int most = Expression::largest_exponent;
  if (exponent <= most) return Expression::pow(base, exponent);
  return Expression::pow(base, most) * power(base, exponent - most);
}

// The factors of a simplified product with their signs and exponents, without rewriting anything.
void key_factors(const Expression& expression, int exponent, double& constant, std::vector<std::string>& keys) {
  const auto operands = expression.operands();
  switch (expression.kind()) {
    case Kind::multiply:
    case Kind::divide:
      key_factors(operands[0], exponent, constant, keys);
      return key_factors(operands[1], expression.kind() == Kind::divide ? -exponent : exponent, constant, keys);
    case Kind::negate:
      if (exponent % 2 != 0) constant = -constant;
      return key_factors(operands[0], exponent, constant, keys);
    case Kind::number: {
      const double folded = constant * apply(Function::pow, expression.value(), exponent);
      if (!std::isnormal(folded)) break;  // a separate key, because distinct overflows are not equal
      constant = folded;
      return;
    }
    default:
      break;
  }
  if (expression.is_call(Function::square) && std::abs(exponent) <= Expression::largest_exponent)
    return key_factors(operands[0], 2 * exponent, constant, keys);
  if (expression.is_call(Function::pow) && std::abs(exponent) <= Expression::largest_exponent)
    return key_factors(operands[0], static_cast<int>(operands[1].value()) * exponent, constant, keys);
  keys.push_back(fmt::format("{}^{}", order_free_key(expression), exponent));
}

std::string product_key(const Expression& expression, double constant) {
  std::vector<std::string> keys;
  key_factors(expression, 1, constant, keys);
  std::sort(keys.begin(), keys.end());
  return fmt::format("{}*[{}]", constant, fmt::join(keys, "*"));
}

void key_terms(const Expression& expression, double sign, std::vector<std::string>& keys) {
  if (!is_sum(expression)) {
    keys.push_back(product_key(expression, sign));
    return;
  }
  key_terms(expression.operands()[0], sign, keys);
  key_terms(expression.operands()[1], expression.kind() == Kind::subtract ? -sign : sign, keys);
}

}  // namespace

bool is_sum(const Expression& expression) {
  return expression.kind() == Kind::add || expression.kind() == Kind::subtract;
}

bool is_product(const Expression& expression) {
  return expression.kind() == Kind::multiply || expression.kind() == Kind::divide ||
         expression.kind() == Kind::negate || expression.is_call(Function::square) || expression.is_call(Function::pow);
}

std::string order_free_key(const Expression& simplified) {
  if (is_sum(simplified)) {
    std::vector<std::string> keys;
    key_terms(simplified, 1, keys);
    std::sort(keys.begin(), keys.end());
    return fmt::format("({})", fmt::join(keys, "+"));
  }
  if (is_product(simplified)) return product_key(simplified, 1);
  if (simplified.kind() != Kind::call) return to_text(simplified);
  std::vector<std::string> keys;
  for (const Expression& operand : simplified.operands()) keys.push_back(order_free_key(operand));
  if (simplified.is_call(Function::max) || simplified.is_call(Function::min)) std::sort(keys.begin(), keys.end());
  return fmt::format("{}({})", to_string(simplified.function()), fmt::join(keys, ","));
}

void FlatProduct::multiply(double value, int exponent) {
  const double powered = apply(Function::pow, value, std::abs(exponent));
  const bool lost = powered == 0 && value != 0;
  const auto factor = lost ? std::nullopt : exponent < 0 ? reduced(1, powered) : reduced(powered, 1);
  const auto folded = factor ? product(constant, *factor) : std::nullopt;
  if (folded) constant = *folded;
  else
    factors.push_back({Expression::number(value), exponent,
                       to_text(Expression::number(value))});  // x/0, 1e300*1e300: left as written
}

void FlatProduct::multiply(const Expression& base, int exponent, std::size_t place) {
  const std::string key = order_free_key(base);
  const auto same = std::find_if(factors.begin(), factors.end(), [&](const Power& f) { return f.key == key; });
  if (same == factors.end()) {
    const auto at = static_cast<std::ptrdiff_t>(std::min(place, factors.size()));
    factors.insert(factors.begin() + at, {base, exponent, key});
  } else if ((same->exponent += exponent) == 0) {
    factors.erase(same);
  }
}

void FlatProduct::join_roots() {
  for (std::size_t i = 0; i < factors.size(); ++i) {
    const bool root = factors[i].base.is_call(Function::sqrt), inverse = factors[i].base.is_call(Function::rsqrt);
    if (!root && !inverse) continue;
    const Expression inside = factors[i].base.operands()[0];
    int halves = root ? factors[i].exponent : -factors[i].exponent;
    const std::string other = order_free_key(Expression::call(root ? Function::rsqrt : Function::sqrt, {inside}));
    const auto partner =
        std::find_if(factors.begin(), factors.end(), [&](const Power& factor) { return factor.key == other; });
    if (partner == factors.end() && std::abs(halves) < 2) continue;
    if (partner != factors.end()) halves += root ? -partner->exponent : partner->exponent;
    std::erase_if(factors, [key = factors[i].key, &other](const Power& factor) {
      return factor.key == key || factor.key == other;
    });
    const int odd = halves % 2;
    if (odd != 0) multiply(Expression::call(odd > 0 ? Function::sqrt : Function::rsqrt, {inside}), 1);
    if (halves / 2 != 0 && inside.kind() == Kind::number) multiply(inside.value(), halves / 2);
    else if (halves / 2 != 0) multiply(inside, halves / 2);
    return join_roots();  // every round removes a root or halves an exponent
  }
}

Expression FlatProduct::rebuilt() const {
  const bool undefined =
      std::any_of(factors.begin(), factors.end(), [](const Power& factor) { return factor.base.is_number(0); });
  if (constant.top == 0 && !undefined) return Expression::number(0);
  std::vector<Expression> above, below;
  for (const Power& factor : factors)
    (factor.exponent > 0 ? above : below).push_back(power(factor.base, std::abs(factor.exponent)));
  if (constant.top == -1 && !above.empty()) above.front() = -above.front();
  else if (constant.top != 1 || above.empty()) above.insert(above.begin(), Expression::number(constant.top));
  if (constant.bottom != 1) below.insert(below.begin(), Expression::number(constant.bottom));
  const auto chain = [](const std::vector<Expression>& parts) {
    Expression result = parts.front();
    for (std::size_t i = 1; i < parts.size(); ++i) result = result * parts[i];
    return result;
  };
  return below.empty() ? chain(above) : chain(above) / chain(below);
}

void FlatSum::add(const FlatProduct& product) {
  if (product.constant.top == 0) return;
  std::vector<std::string> keys;
  for (const FlatProduct::Power& factor : product.factors)
    keys.push_back(fmt::format("{}^{}", factor.key, factor.exponent));
  std::sort(keys.begin(), keys.end());
  const std::string key = fmt::format("{}", fmt::join(keys, "*"));
  for (Summand& term : terms) {
    if (term.key != key) continue;
    const auto folded = sum(term.product.constant, product.constant);
    if (!folded) continue;  // would overflow, so it remains a separate term
    term.product.constant = *folded;
    std::erase_if(terms, [](const Summand& each) { return each.product.constant.top == 0; });
    return;
  }
  terms.push_back({product, key});
}

Expression FlatSum::rebuilt() const {
  std::vector<FlatProduct> ordered;
  for (const Summand& term : terms) ordered.push_back(term.product);
  // A positive term first, so that m - x is not -x + m; constants last.
  std::stable_partition(ordered.begin(), ordered.end(), [](const FlatProduct& term) { return !term.factors.empty(); });
  const auto positive = [](const FlatProduct& term) { return term.constant.top > 0; };
  if (const auto first = std::find_if(ordered.begin(), ordered.end(), positive); first != ordered.end())
    std::rotate(ordered.begin(), first, first + 1);
  if (ordered.empty()) return Expression::number(0);
  Expression result = ordered.front().rebuilt();
  for (std::size_t i = 1; i < ordered.size(); ++i) {
    const bool minus = ordered[i].constant.top < 0;
    if (minus) ordered[i].constant.top = -ordered[i].constant.top;
    result = minus ? result - ordered[i].rebuilt() : result + ordered[i].rebuilt();
  }
  return result;
}

}  // namespace tilescope
