// Functions of polynomials that need the symbols' definitions: text, values, relaxation.
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "poly/symbols.h"

namespace tilescope {
namespace {

std::string with_exponent(const std::string& base, const Rational& exponent) {
  if (exponent == 1) return base;
  const std::string text = to_text(exponent);
  return base + '^' + (exponent.is_integer() ? text : '(' + text + ')');
}

// |coefficient| * powers; the sign is the caller's.
std::string term_text(const Monomial& term, const Symbols& symbols) {
  std::string above, below;
  int divisors = 0;
  for (const Power& factor : term.powers) {
    const bool divides = factor.exponent < 0;
    std::string& side = divides ? below : above;
    if (!side.empty()) side += '*';
    side += with_exponent(symbols[factor.symbol].text, divides ? -factor.exponent : factor.exponent);
    divisors += divides;
  }
  const Rational size = term.coefficient < 0 ? -term.coefficient : term.coefficient;
  if (size != 1 || above.empty()) above = to_text(size) + (above.empty() ? "" : "*" + above);
  if (below.empty()) return above;
  return above + '/' + (divisors > 1 ? '(' + below + ')' : below);
}

double value_of(SymbolId symbol, const Symbols& symbols, const Valuation& values) {
  if (const auto given = values.find(symbol); given != values.end()) return given->second;
  const SymbolDefinition& definition = symbols[symbol];
  if (definition.kind == SymbolKind::input || definition.kind == SymbolKind::external)
    throw std::invalid_argument("symbol '" + definition.text + "' has no value; give it one");
  const double first = value_of(definition.first, symbols, values);
  if (definition.kind == SymbolKind::ceil_ratio) return std::ceil(first / value_of(definition.second, symbols, values));
  const auto moves = [&](SymbolId mover) { return value_of(mover, symbols, values) > 1; };
  return std::any_of(definition.movers.begin(), definition.movers.end(), moves) ? first : 1.0;
}

Polynomial relaxed(SymbolId symbol, const Symbols& symbols) {
  const SymbolDefinition& definition = symbols[symbol];
  switch (definition.kind) {
    case SymbolKind::input:
      return symbol;
    case SymbolKind::gate:
      return relaxed(definition.first, symbols);
    case SymbolKind::external:
      return relax(definition.relaxed, symbols);
    case SymbolKind::ceil_ratio:
      break;
  }
  return relaxed(definition.first, symbols) * power(relaxed(definition.second, symbols), -1);
}

}  // namespace

std::string to_text(const Polynomial& polynomial, const Symbols& symbols) {
  if (polynomial.is_zero()) return "0";
  std::string text;
  for (const Monomial& term : polynomial.terms()) {
    const bool negative = term.coefficient < 0;
    text += text.empty() ? (negative ? "-" : "") : (negative ? " - " : " + ");
    text += term_text(term, symbols);
  }
  return text;
}

double evaluate(const Polynomial& polynomial, const Symbols& symbols, const Valuation& values) {
  double sum = 0;
  for (const Monomial& term : polynomial.terms()) {
    double product = term.coefficient.to_double();
    for (const Power& factor : term.powers) {
      const double base = value_of(factor.symbol, symbols, values);
      if (factor.exponent == 1) product *= base;
      else if (factor.exponent == -1) product /= base;  // exact where the tile divides
      else product *= std::pow(base, factor.exponent.to_double());
    }
    sum += product;
  }
  return sum;
}

Polynomial relax(const Polynomial& polynomial, const Symbols& symbols) {
  Polynomial sum;
  for (const Monomial& term : polynomial.terms()) {
    Polynomial product(term.coefficient);
    for (const Power& factor : term.powers) product = product * power(relaxed(factor.symbol, symbols), factor.exponent);
    sum += product;
  }
  return sum;
}

}  // namespace tilescope
