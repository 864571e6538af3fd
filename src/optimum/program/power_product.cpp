#include "optimum/program/power_product.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

namespace tilescope {
namespace {

// The largest monomial that divides every term: gcd of the coefficients, least power of each symbol.
Monomial common_factor(const Polynomial& sum) {
  std::int64_t numerator = 0, denominator = 1;
  std::map<SymbolId, std::pair<Rational, std::size_t>> least;  // power, and the number of terms that have one
  for (const Monomial& term : sum.terms()) {
    numerator = std::gcd(numerator, term.coefficient.numerator());
    denominator = checked_mul(denominator / std::gcd(denominator, term.coefficient.denominator()),
                              term.coefficient.denominator());
    for (const Power& factor : term.powers) {
      auto& [exponent, terms] = least.try_emplace(factor.symbol, factor.exponent, 0).first->second;
      exponent = std::min(exponent, factor.exponent), ++terms;
    }
  }
  Monomial common{Rational(numerator, denominator), {}};
  for (const auto& [symbol, entry] : least) {
    const Rational exponent = entry.second == sum.terms().size() ? entry.first : std::min(entry.first, Rational(0));
    if (exponent != 0) common.powers.push_back({symbol, exponent});
  }
  return common;
}

bool before(const Polynomial& a, const Polynomial& b) {
  return std::lexicographical_compare(a.terms().begin(), a.terms().end(), b.terms().begin(), b.terms().end(),
                                      [](const Monomial& left, const Monomial& right) {
                                        if (left.powers != right.powers)
                                          return powers_before(left.powers, right.powers);
                                        return left.coefficient < right.coefficient;
                                      });
}

std::string power_text(const std::string& base, const Rational& exponent) {
  if (exponent == 1) return base;
  const std::string text = to_text(exponent);
  return base + '^' + (exponent.is_integer() && exponent > 0 ? text : '(' + text + ')');
}

}  // namespace

void PowerProduct::multiply(const Polynomial& base, const Rational& exponent) {
  for (const Monomial& term : base.terms())
    if (term.coefficient < 0) throw std::domain_error("a power product needs positive factors; a term is negative");
  if (base.is_zero()) throw std::domain_error("a power product needs positive factors; a factor is zero");
  if (exponent == 0) return;
  Monomial common = common_factor(base);
  const Polynomial primitive = base / common;
  multiply_number(common.coefficient, exponent);
  common.coefficient = 1;
  rational_ = rational_ * power(common, exponent);
  if (primitive.terms().size() == 1) return;  // it is 1
  const auto place =
      std::lower_bound(factors_.begin(), factors_.end(), primitive,
                       [](const PowerFactor& factor, const Polynomial& sum) { return before(factor.base, sum); });
  if (place == factors_.end() || !(place->base == primitive)) {
    factors_.insert(place, {primitive, exponent});
    return;
  }
  place->exponent += exponent;
  if (place->exponent == 0) factors_.erase(place);
}

void PowerProduct::multiply_number(const Rational& base, const Rational& exponent) {
  if (exponent.is_integer()) {
    rational_.coefficient *= power(base, exponent.numerator());
    return;
  }
  multiply_integer(base.numerator(), exponent);
  multiply_integer(base.denominator(), -exponent);
}

void PowerProduct::multiply_integer(std::int64_t base, const Rational& exponent) {
  const auto take = [&](std::int64_t factor, const Rational& times) {
    Rational& root = roots_[factor];
    root += times;
    const std::int64_t whole = floor_of(root);
    rational_.coefficient *= power(Rational(factor), whole);
    root -= whole;
    if (root == 0) roots_.erase(factor);
  };
  for (std::int64_t prime = 2; prime < 65536 && prime <= base / prime; ++prime) {
    std::int64_t times = 0;
    for (; base % prime == 0; base /= prime) ++times;
    if (times > 0) take(prime, exponent * times);
  }
  if (base > 1) take(base, exponent);
}

std::optional<Polynomial> PowerProduct::expanded() const {
  if (!roots_.empty()) return std::nullopt;
  Polynomial product(rational_);
  for (const PowerFactor& factor : factors_) {
    if (!factor.exponent.is_integer() || factor.exponent < 0) return std::nullopt;
    product = product * power(factor.base, factor.exponent);
  }
  return product;
}

double PowerProduct::evaluate(const Symbols& symbols, const Valuation& values) const {
  double product = tilescope::evaluate(Polynomial(rational_), symbols, values);
  for (const auto& [base, exponent] : roots_) product *= std::pow(static_cast<double>(base), exponent.to_double());
  for (const PowerFactor& factor : factors_)
    product *= std::pow(tilescope::evaluate(factor.base, symbols, values), factor.exponent.to_double());
  return product;
}

std::string PowerProduct::to_text(const Symbols& symbols) const {
  std::vector<std::string> parts;
  const bool bare = rational_.powers.empty() && rational_.coefficient == 1;
  if (!bare || (roots_.empty() && factors_.empty()))
    parts.push_back(tilescope::to_text(Polynomial(rational_), symbols));
  for (const auto& [base, exponent] : roots_) parts.push_back(power_text(std::to_string(base), exponent));
  for (const PowerFactor& factor : factors_)
    parts.push_back(power_text('(' + tilescope::to_text(factor.base, symbols) + ')', factor.exponent));
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : "*") + part;
  return text;
}

}  // namespace tilescope
