#include "optimum/program/power_product.h"

#include <doctest/doctest.h>

#include <cmath>

namespace tilescope::power_product_test {

TEST_CASE("products of powers are kept in lowest form") {
  Symbols symbols;
  const Polynomial a = symbols.input("a"), d = symbols.input("d"), e = symbols.input("e");
  PowerProduct product;
  product.multiply(2 * a * d, {1, 2});
  product.multiply(2 * a * d, {1, 2});
  CHECK(product.expanded() == 2 * a * d);
  product.multiply(3 * d + 3 * e, {3, 2});
  CHECK_FALSE(product.expanded());
  CHECK(product.to_text(symbols) == "6*a*d*3^(1/2)*(d + e)^(3/2)");
  product.multiply(12 * d + 12 * e, {-1, 2});
  CHECK(product.to_text(symbols) == "3*a*d*(d + e)");
  CHECK(product.expanded() == 3 * a * d * (d + e));
  product.multiply(d + e, -1);
  CHECK(product.to_text(symbols) == "3*a*d");
  CHECK(PowerProduct{}.to_text(symbols) == "1");
}

TEST_CASE("a product of powers has the value of its factors") {
  Symbols symbols;
  const SymbolId a = symbols.input("a"), d = symbols.input("d");
  const Valuation values{{a, 3.5}, {d, 7.25}};
  PowerProduct product;
  double expected = 1;
  const std::vector<std::pair<Polynomial, Rational>> factors{
      {Polynomial(a) * 10 + Polynomial(d) * Rational(5, 3), {2, 3}},
      {Polynomial(Rational(7, 12)), {-5, 4}},
      {Polynomial(a) * a / Monomial{6, {{d, 1}}}, {3, 2}},
      {Polynomial(a) / Monomial{1, {{d, 2}}} + 1, {1, 2}},
      {Polynomial(d) * 2 + Polynomial(a) * 12, {4, 3}},
      {4294967291LL, {1, 2}}};
  for (const auto& [base, exponent] : factors) {
    product.multiply(base, exponent);
    expected *= std::pow(evaluate(base, symbols, values), exponent.to_double());
  }
  CHECK(product.evaluate(symbols, values) == doctest::Approx(expected).epsilon(1e-12));
}

TEST_CASE("a product of powers refuses factors that may be negative or zero") {
  Symbols symbols;
  const Polynomial a = symbols.input("a");
  PowerProduct product;
  CHECK_THROWS_AS(product.multiply(a - 1, 1), std::domain_error);
  CHECK_THROWS_AS(product.multiply(Polynomial(), 1), std::domain_error);
}

}  // namespace tilescope::power_product_test
