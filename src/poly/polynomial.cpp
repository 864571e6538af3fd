#include "poly/polynomial.h"

#include <algorithm>
#include <stdexcept>

namespace tilescope {
namespace {

Rational total_degree(const Monomial& term) {
  Rational sum = 0;
  for (const Power& factor : term.powers) sum += factor.exponent;
  return sum;
}

// `term` without its power of `symbol`, and that power.
std::pair<Monomial, Rational> without(const Monomial& term, SymbolId symbol) {
  std::pair<Monomial, Rational> split{{term.coefficient, {}}, 0};
  for (const Power& factor : term.powers) {
    if (factor.symbol == symbol) split.second = factor.exponent;
    else split.first.powers.push_back(factor);
  }
  return split;
}

}  // namespace

Monomial operator*(const Monomial& a, const Monomial& b) {
  Monomial product{a.coefficient * b.coefficient, {}};
  auto left = a.powers.begin(), right = b.powers.begin();
  while (left != a.powers.end() || right != b.powers.end()) {
    const bool from_left = right == b.powers.end() || (left != a.powers.end() && left->symbol <= right->symbol);
    const bool both = from_left && right != b.powers.end() && left->symbol == right->symbol;
    Power factor = from_left ? *left++ : *right++;
    if (both) factor.exponent += (right++)->exponent;
    if (factor.exponent != 0) product.powers.push_back(factor);
  }
  return product;
}

Monomial power(const Monomial& base, const Rational& exponent) {
  const auto coefficient = rational_power(base.coefficient, exponent);
  if (!coefficient)
    throw std::domain_error(to_text(base.coefficient) + "^(" + to_text(exponent) + ") is not a rational number");
  Monomial result{*coefficient, {}};
  if (exponent == 0) return result;
  for (const Power& factor : base.powers) result.powers.push_back({factor.symbol, factor.exponent * exponent});
  return result;
}

bool powers_before(const std::vector<Power>& a, const std::vector<Power>& b) {
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) {
    if (a[i].symbol != b[i].symbol) return a[i].symbol < b[i].symbol;
    if (a[i].exponent != b[i].exponent) return a[i].exponent > b[i].exponent;
  }
  return a.size() > b.size();
}

Polynomial::Polynomial(std::vector<Monomial> terms) : terms_(std::move(terms)) {
  std::sort(terms_.begin(), terms_.end(),
            [](const Monomial& a, const Monomial& b) { return powers_before(a.powers, b.powers); });
  std::size_t kept = 0;
  for (std::size_t i = 0; i < terms_.size(); ++i) {
    if (kept > 0 && terms_[kept - 1].powers == terms_[i].powers) {
      terms_[kept - 1].coefficient += terms_[i].coefficient;
    } else {
      if (kept > 0 && terms_[kept - 1].coefficient == 0) --kept;
      if (kept != i) terms_[kept] = std::move(terms_[i]);
      ++kept;
    }
  }
  if (kept > 0 && terms_[kept - 1].coefficient == 0) --kept;
  terms_.resize(kept);
}

Polynomial operator+(const Polynomial& a, const Polynomial& b) {
  std::vector<Monomial> terms = a.terms_;
  terms.insert(terms.end(), b.terms_.begin(), b.terms_.end());
  return Polynomial(std::move(terms));
}

Polynomial operator-(const Polynomial& a, const Polynomial& b) { return a + -b; }

Polynomial operator*(const Polynomial& a, const Polynomial& b) {
  std::vector<Monomial> terms;
  terms.reserve(a.terms_.size() * b.terms_.size());
  for (const Monomial& left : a.terms_)
    for (const Monomial& right : b.terms_) terms.push_back(left * right);
  return Polynomial(std::move(terms));
}

Polynomial operator/(const Polynomial& a, const Monomial& b) { return a * Polynomial(power(b, -1)); }

Polynomial power(const Polynomial& base, const Rational& exponent) {
  if (base.terms().size() == 1) return power(base.terms().front(), exponent);
  if (!exponent.is_integer() || exponent < 0)
    throw std::domain_error("a sum of terms has no power " + to_text(exponent) + " that is a polynomial");
  Polynomial result = 1, square = base;
  for (std::int64_t rest = exponent.numerator(); rest > 0; rest >>= 1) {
    if (rest & 1) result = result * square;
    if (rest > 1) square = square * square;
  }
  return result;
}

std::set<SymbolId> symbols_of(const Polynomial& polynomial) {
  std::set<SymbolId> found;
  for (const Monomial& term : polynomial.terms())
    for (const Power& factor : term.powers) found.insert(factor.symbol);
  return found;
}

Rational degree(const Polynomial& polynomial, const std::set<SymbolId>& symbols) {
  Rational largest = 0;
  for (const Monomial& term : polynomial.terms()) {
    Rational sum = 0;
    for (const Power& factor : term.powers)
      if (symbols.contains(factor.symbol)) sum += factor.exponent;
    largest = &term == &polynomial.terms().front() ? sum : std::max(largest, sum);
  }
  return largest;
}

Polynomial top_degree_part(const Polynomial& polynomial) {
  std::vector<Monomial> kept;
  for (const Monomial& term : polynomial.terms()) {
    if (!kept.empty() && total_degree(term) < total_degree(kept.front())) continue;
    if (!kept.empty() && total_degree(term) > total_degree(kept.front())) kept.clear();
    kept.push_back(term);
  }
  return Polynomial(std::move(kept));
}

Polynomial substitute(const Polynomial& polynomial, SymbolId symbol, const Polynomial& value) {
  std::vector<Monomial> terms;
  for (const Monomial& term : polynomial.terms()) {
    const auto [rest, exponent] = without(term, symbol);
    if (exponent == 0) {
      terms.push_back(rest);
      continue;
    }
    const Polynomial replaced = Polynomial(rest) * power(value, exponent);
    terms.insert(terms.end(), replaced.terms().begin(), replaced.terms().end());
  }
  return Polynomial(std::move(terms));
}

}  // namespace tilescope
