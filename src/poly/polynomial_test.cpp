#include "poly/polynomial.h"

#include <doctest/doctest.h>

#include <cctype>
#include <cmath>

#include "base/test_seed.h"
#include "poly/random_polynomial.h"

namespace tilescope::polynomial_test {
namespace {

// An independent parser for the output of to_text. It looks up the text of every symbol in the table.
class Reader {
 public:
  Reader(const std::string& text, const RandomPolynomials& random) : text_(text), random_(random) {}

  Polynomial polynomial() {
    Polynomial sum;
    bool negative = take("-");
    do {
      const Polynomial term = product();
      sum += negative ? -term : term;
    } while ((negative = take(" - ")) || take(" + "));
    REQUIRE(at_ == text_.size());
    return sum;
  }

 private:
  Polynomial product() {
    Polynomial result = factor();
    while (at_ < text_.size() && (text_[at_] == '*' || text_[at_] == '/')) {
      const bool divides = text_[at_++] == '/';
      const bool group = divides && take("(");
      Polynomial right = factor();
      while (group && take("*")) right = right * factor();
      if (group) REQUIRE(take(")"));
      result = divides ? result / right.terms().front() : result * right;
    }
    return result;
  }

  Polynomial factor() {
    if (std::isdigit(static_cast<unsigned char>(text_[at_]))) return number();
    std::size_t best = 0;
    SymbolId symbol{};
    for (const SymbolId candidate : random_.all) {
      const std::string& name = random_.symbols[candidate].text;
      if (name.size() > best && text_.compare(at_, name.size(), name) == 0) best = name.size(), symbol = candidate;
    }
    REQUIRE(best > 0);
    at_ += best;
    if (!take("^")) return symbol;
    const bool group = take("(");
    Rational exponent = number();
    if (group && take("/")) exponent = exponent / number();
    if (group) REQUIRE(take(")"));
    return Monomial{1, {{symbol, exponent}}};
  }

  std::int64_t number() {
    std::size_t used = 0;
    const std::int64_t value = std::stoll(text_.substr(at_), &used);
    at_ += used;
    return value;
  }

  bool take(std::string_view word) {
    if (text_.compare(at_, word.size(), word) != 0) return false;
    at_ += word.size();
    return true;
  }

  std::string text_;
  const RandomPolynomials& random_;
  std::size_t at_ = 0;
};

Valuation random_values(RandomPolynomials& random) {
  Valuation values;
  for (const SymbolId id : random.symbols.inputs()) values[id] = static_cast<double>(random.between(1, 40));
  for (const SymbolId id : random.symbols.externals()) values[id] = static_cast<double>(random.between(1, 40));
  return values;
}

}  // namespace

TEST_CASE("polynomials are printed in the usual notation of formulas") {
  Symbols symbols;
  const SymbolId q = symbols.input("q_len"), x = symbols.input("kv_len"), d = symbols.input("d_qk"),
                 e = symbols.input("d_v");
  const SymbolId tile = symbols.input("tile.q"), trips = symbols.ceil_ratio(q, tile);
  CHECK(to_text(2 * Polynomial(q) * d + Polynomial(trips) * x * e, symbols) ==
        "2*q_len*d_qk + kv_len*d_v*ceil(q_len/tile.q)");
  CHECK(to_text(relax(Polynomial(trips) * x * x - Rational(1, 2), symbols), symbols) == "q_len*kv_len^2/tile.q - 1/2");
  CHECK(to_text(Polynomial(Monomial{-4, {{q, Rational(-1, 2)}, {d, -1}}}), symbols) == "-4/(q_len^(1/2)*d_qk)");
  CHECK(to_text(Polynomial(), symbols) == "0");
  CHECK(to_text(Polynomial(1), symbols) == "1");
}

TEST_CASE("the printed text of a polynomial parses to the same polynomial") {
  RandomPolynomials random(test_seed());
  MESSAGE("seed " << test_seed());
  for (int i = 0; i < 500; ++i) {
    const Polynomial polynomial = random.polynomial(true);
    const std::string text = to_text(polynomial, random.symbols);
    CAPTURE(text);
    CHECK(Reader(text, random).polynomial() == polynomial);
  }
}

TEST_CASE("random polynomials satisfy the laws of a ring") {
  RandomPolynomials random(test_seed());
  MESSAGE("seed " << test_seed());
  for (int i = 0; i < 300; ++i) {
    const Polynomial a = random.polynomial(true, 4), b = random.polynomial(true, 4), c = random.polynomial(true, 3);
    CHECK(a + b == b + a);
    CHECK(a * b == b * a);
    CHECK((a + b) + c == a + (b + c));
    CHECK((a * b) * c == a * (b * c));
    CHECK(a * (b + c) == a * b + a * c);
    CHECK(a + Polynomial() == a);
    CHECK(a * Polynomial(1) == a);
    CHECK((a - a).is_zero());
    CHECK(power(a, 3) == a * a * a);
    if (!b.is_zero()) CHECK(a * Polynomial(b.terms().front()) / b.terms().front() == a);
  }
}

TEST_CASE("evaluation is a homomorphism, and substitution commutes with it") {
  RandomPolynomials random(test_seed());
  for (int i = 0; i < 300; ++i) {
    const Polynomial a = random.polynomial(false), b = random.polynomial(false), c = random.polynomial(false, 3);
    const Valuation values = random_values(random);
    const auto value = [&](const Polynomial& p) { return evaluate(p, random.symbols, values); };
    const double size_a = value(magnitude(a)), size_b = value(magnitude(b));
    CHECK(std::abs(value(a + b) - (value(a) + value(b))) <= 1e-12 * (size_a + size_b));
    CHECK(std::abs(value(a * b) - value(a) * value(b)) <= 1e-12 * size_a * size_b);
    const SymbolId replaced = random.all[4];  // a trip count: also in gates, which therefore keep their values
    Valuation changed = values, largest = values;
    for (const SymbolId gate : {random.all[6], random.all[7]}) changed[gate] = largest[gate] = value(gate);
    changed[replaced] = value(c), largest[replaced] = value(magnitude(c));
    const double error = evaluate(a, random.symbols, changed) - value(substitute(a, replaced, c));
    CHECK(std::abs(error) <= 1e-12 * evaluate(magnitude(a), random.symbols, largest));
  }
}

TEST_CASE("degrees and the top-degree part are those of the terms") {
  Symbols symbols;
  const SymbolId q = symbols.input("q"), d = symbols.input("d"), g = symbols.input("g");
  const Polynomial h = Polynomial(q) * d * d / Monomial{1, {{g, 1}}} + Polynomial(q) * 3 + 7;
  CHECK(degree(h, {q, d}) == 3);
  CHECK(degree(h, {g}) == 0);
  CHECK(degree(Polynomial(q) / Monomial{1, {{g, 2}}}, {g}) == -2);
  CHECK(top_degree_part(power(Polynomial(d) + q + 2, 2)) == power(Polynomial(d) + q, 2));
  CHECK(symbols_of(h) == std::set<SymbolId>{q, d, g});
}

TEST_CASE("a power that is not a polynomial is refused") {
  Symbols symbols;
  const Polynomial d = symbols.input("d"), e = symbols.input("e");
  CHECK(power(4 * d * d, Rational(1, 2)) == 2 * d);
  CHECK_THROWS_AS(power(d + e, Rational(1, 2)), std::domain_error);
  CHECK_THROWS_AS(power(d + e, -1), std::domain_error);
  CHECK_THROWS_AS(power(2 * d, Rational(1, 2)), std::domain_error);
  CHECK_THROWS_AS(d / Monomial({0, {}}), std::domain_error);
}

}  // namespace tilescope::polynomial_test
