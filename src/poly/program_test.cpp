#include "poly/program.h"

#include <doctest/doctest.h>

#include <array>
#include <limits>

#include "base/test_seed.h"
#include "poly/random_polynomial.h"

namespace tilescope::program_test {
namespace {

using Integers = std::map<SymbolId, std::int64_t>;

std::int64_t naive_value(SymbolId symbol, const Symbols& symbols, const Integers& values) {
  const SymbolDefinition& definition = symbols[symbol];
  if (definition.kind == SymbolKind::input || definition.kind == SymbolKind::external) return values.at(symbol);
  const std::int64_t first = naive_value(definition.first, symbols, values);
  if (definition.kind == SymbolKind::ceil_ratio) {
    const std::int64_t tile = naive_value(definition.second, symbols, values);
    std::int64_t trips = 0;
    for (std::int64_t start = 0; start < first; start += tile) ++trips;
    return trips;
  }
  for (const SymbolId mover : definition.movers)
    if (naive_value(mover, symbols, values) > 1) return first;
  return 1;
}

// Evaluates each term factor by factor, in rational numbers.
Rational naive(const Polynomial& polynomial, const Symbols& symbols, const Integers& values) {
  Rational sum = 0;
  for (const Monomial& term : polynomial.terms()) {
    Rational product = term.coefficient;
    for (const Power& factor : term.powers)
      for (std::int64_t i = 0; i < factor.exponent.numerator(); ++i)
        product *= naive_value(factor.symbol, symbols, values);
    sum += product;
  }
  return sum;
}

}  // namespace

TEST_CASE("compiled programs equal naive evaluation of random polynomials at random shapes") {
  RandomPolynomials random(test_seed());
  MESSAGE("seed " << test_seed());
  const Symbols& symbols = random.symbols;
  for (int i = 0; i < 300; ++i) {
    const std::array polynomials{random.polynomial(false), random.polynomial(false, 12), random.polynomial(false, 2)};
    const Program program = compile(symbols, polynomials);
    for (int j = 0; j < 20; ++j) {
      Integers values;
      std::vector<std::int64_t> inputs, externals;
      for (const SymbolId id : symbols.inputs()) inputs.push_back(values[id] = random.between(1, 30));
      for (const SymbolId id : symbols.externals()) externals.push_back(values[id] = random.between(0, 30));
      std::array<std::int64_t, 3> outputs{};
      program.run(inputs, externals, outputs);
      for (std::size_t k = 0; k < outputs.size(); ++k)
        CHECK(Rational(outputs[k]) == naive(polynomials[k], symbols, values));
    }
  }
}

TEST_CASE("a compiled program shares trip counts and products") {
  Symbols symbols;
  const Polynomial q = symbols.input("q"), x = symbols.input("x"), d = symbols.input("d"), e = symbols.input("e");
  const Polynomial trips = symbols.ceil_ratio(SymbolId{0}, SymbolId{3});
  const std::array polynomials{trips * x * d + trips * x * e, trips * x * q};
  // Operations: one ceil, one product trips * x, three products with it, three terms.
  CHECK(compile(symbols, polynomials).operation_count() == 1 + 1 + 3 + 3);
  const std::array powers{power(q, 16)};
  CHECK(compile(symbols, powers).operation_count() == 4 + 1);
}

TEST_CASE("fractional coefficients give exact integers or an error") {
  Symbols symbols;
  const Polynomial n = symbols.input("n");
  const std::array triangle{n * n * Rational(1, 2) + n * Rational(1, 2)}, half{n * Rational(1, 2)};
  std::array<std::int64_t, 1> out{};
  compile(symbols, triangle).run(std::array<std::int64_t, 1>{7}, {}, out);
  CHECK(out[0] == 28);
  CHECK_THROWS_AS(compile(symbols, half).run(std::array<std::int64_t, 1>{7}, {}, out), std::domain_error);
}

TEST_CASE("a program throws on overflow, invalid tiles and spans that are too short") {
  Symbols symbols;
  const SymbolId q = symbols.input("q"), tile = symbols.input("g");
  const std::array polynomials{Polynomial(q) * q * symbols.ceil_ratio(q, tile)};
  const Program program = compile(symbols, polynomials);
  std::array<std::int64_t, 1> out{};
  const auto run = [&](std::vector<std::int64_t> inputs) { program.run(inputs, {}, out); };
  run({2097151, 1});
  CHECK(out[0] == 2097151LL * 2097151 * 2097151);
  CHECK_THROWS_AS(run({2097152, 1}), CountOverflow);
  CHECK_THROWS_AS(run({std::numeric_limits<std::int64_t>::max(), 1}), CountOverflow);
  CHECK_THROWS_AS(run({5, 0}), std::domain_error);
  CHECK_THROWS_AS(run({5, -3}), std::domain_error);
  CHECK_THROWS_AS(run({-5, 3}), std::domain_error);
  CHECK_THROWS_AS(run({5}), std::invalid_argument);
  const std::array relaxed{relax(polynomials[0], symbols)}, root{Polynomial(Monomial{1, {{q, Rational(1, 2)}}})};
  CHECK_THROWS_AS(compile(symbols, relaxed), std::invalid_argument);
  CHECK_THROWS_AS(compile(symbols, root), std::invalid_argument);
}

TEST_CASE("a sum is exact if its result is in range, even if its parts are not") {
  Symbols symbols;
  const Polynomial n = symbols.input("n"), m = symbols.input("m");
  const std::int64_t large = std::numeric_limits<std::int64_t>::max() - 5;
  std::array<std::int64_t, 1> out{};
  const std::array sums{5 * n - 5 * m};
  compile(symbols, sums).run(std::array{large, large - 2}, {}, out);
  CHECK(out[0] == 10);
}

}  // namespace tilescope::program_test
