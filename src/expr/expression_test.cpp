#include "expr/expression.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "expr/evaluate.h"
#include "expr/test_parsed.h"

namespace tilescope::expression_test {
namespace {

// The values in this test: a = 2, b = -3, index(x) = 5 and size(x) = 8. Every other name is unknown.
struct Fixed : Lookup {
  double array(const std::string& name) const override {
    return name == "a" ? 2 : name == "b" ? -3 : std::numeric_limits<double>::quiet_NaN();
  }
  double index(const std::string&) const override { return 5; }
  double size(const std::string&) const override { return 8; }
};

double value(const char* text) { return evaluate(parsed(text), Fixed()); }

}  // namespace

TEST_CASE("an expression evaluates to the value of the same C++ expression") {
  CHECK(value("a + b*a - a/b") == 2.0 - 6.0 + 2.0 / 3.0);
  CHECK(value("-(a - b)") == -5);
  CHECK(value("index(x)/size(x)") == 0.625);
  CHECK(value("exp(a)*log(a) + sqrt(a) - rsqrt(a)") ==
        std::exp(2.0) * std::log(2.0) + std::sqrt(2.0) - 1 / std::sqrt(2.0));
  CHECK(value("tanh(b)") == std::tanh(-3.0));
  CHECK(value("sigmoid(b)") == doctest::Approx(1 / (1 + std::exp(3.0))).epsilon(1e-15));
  CHECK(value("sigmoid(-500*a)") == std::exp(-1000.0));
  CHECK(value("sigmoid(500*a)") == 1);
  CHECK(value("abs(b) + square(b) + pow(b, 3) + pow(a, -2) + pow(b, 0)") == 3 + 9 - 27 + 0.25 + 1);
  CHECK(value("max(a, b) - min(a, b)") == 5);
}

TEST_CASE("every function returns NaN for a value that is missing or undefined") {
  for (const char* text : {"c", "max(a, c)", "max(c, a)", "min(a, c)", "c + a", "exp(c)", "pow(c, 2)", "log(b)",
                           "sqrt(b)", "rsqrt(b)", "tanh(c)", "sigmoid(c)", "abs(c)", "0*log(b)"}) {
    CHECK_MESSAGE(std::isnan(value(text)), text);
  }
  CHECK(value("log(a - a)") == -std::numeric_limits<double>::infinity());
}

TEST_CASE("an expression lists its names in the order of first use") {
  const Expression e = parsed("exp(S - m)/z*V + S*index(x) - size(q)*index(k)*index(x)");
  CHECK(e.arrays() == std::vector<std::string>{"S", "m", "z", "V"});
  CHECK(e.index_axes() == std::vector<std::string>{"x", "k"});
  CHECK(e.size_axes() == std::vector<std::string>{"q"});
  CHECK(e.axes() == std::vector<std::string>{"x", "q", "k"});
  CHECK(e.uses("V"));
  CHECK(!e.uses("x"));
}

TEST_CASE("substitution replaces all names at once and does not change the original") {
  const Expression e = parsed("a*exp(b - a)");
  CHECK(to_text(substitute(e, "a", parsed("x + y"))) == "(x + y)*exp(b - (x + y))");
  CHECK(to_text(substitute(e, {{"a", parsed("b")}, {"b", parsed("a")}})) == "b*exp(a - b)");
  CHECK(substitute(e, "c", parsed("x")) == e);
  CHECK(to_text(e) == "a*exp(b - a)");
}

TEST_CASE("equality compares expression trees, not the functions that they compute") {
  CHECK(parsed("a + b") == parsed("a + b"));
  CHECK(parsed("a + b") != parsed("b + a"));
  CHECK(parsed("index(a)") != parsed("size(a)"));
  CHECK(parsed("min(a, b)") != parsed("max(a, b)"));
}

TEST_CASE("every expression that can be constructed has a text") {
  const Expression a = Expression::array("a");
  CHECK_THROWS_AS(Expression::number(std::numeric_limits<double>::infinity()), std::invalid_argument);
  CHECK_THROWS_AS(Expression::number(std::nan("")), std::invalid_argument);
  for (const char* name : {"", "2a", "a b", "'", "a'b", "exp", "index", "a.b"})
    CHECK_THROWS_AS(Expression::array(name), std::invalid_argument);
  CHECK_THROWS_AS(Expression::call(Function::exp, {a, a}), std::invalid_argument);
  CHECK_THROWS_AS(Expression::call(Function::pow, {a, a}), std::invalid_argument);
  CHECK_THROWS_AS(Expression::pow(a, 65), std::invalid_argument);
  CHECK_THROWS_AS(a.with_operands({a}), std::invalid_argument);
  CHECK(std::signbit(Expression::number(-0.0).value()) == false);
}

}  // namespace tilescope::expression_test
