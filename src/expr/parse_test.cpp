#include "expr/parse.h"

#include <doctest/doctest.h>

#include <random>

#include "base/test_seed.h"
#include "expr/random_expression.h"
#include "expr/test_parsed.h"

namespace tilescope::parse_test {
namespace {

ExpressionError refused(const std::string& text) {
  const auto result = parse_expression(text);
  REQUIRE_MESSAGE(std::holds_alternative<ExpressionError>(result), text);
  return std::get<ExpressionError>(result);
}

}  // namespace

TEST_CASE("operators have the precedence and associativity of arithmetic") {
  const Expression a = Expression::array("a"), b = Expression::array("b"), c = Expression::array("c");
  CHECK(parsed("a - b - c") == (a - b) - c);
  CHECK(parsed("a - (b - c)") == a - (b - c));
  CHECK(parsed("a/b*c") == a / b * c);
  CHECK(parsed("-a*b + c") == (-a) * b + c);
  CHECK(parsed("a*-b") == a * -b);
  CHECK(parsed(" ( a ) ") == a);
  CHECK(parsed("-2") == Expression::number(-2));
  CHECK(parsed("--2") == Expression::number(2));
  CHECK(parsed("1e-3") == Expression::number(0.001));
  CHECK(parsed("index(x) - size( x )") == Expression::index("x") - Expression::size("x"));
  CHECK(parsed("max(a,pow(b,-3))") == Expression::call(Function::max, {a, Expression::pow(b, -3)}));
  CHECK(parsed("max' + index'") == Expression::array("max'") + Expression::array("index'"));
  CHECK(parsed("m' - m") == Expression::array("m'") - Expression::array("m"));
}

TEST_CASE("a wrong expression is refused with its place, what was expected and what was found") {
  const auto check = [](const std::string& text, std::size_t position, const std::string& message) {
    const ExpressionError error = refused(text);
    CHECK_MESSAGE(error.position == position, text);
    CHECK(error.message == message);
  };
  check("", 0, "expected a number, name or '(' at character 1, found the end");
  check("a + * b", 4, "expected a number, name or '(' at character 5, found '*'");
  check("(a + b", 6, "expected ')' or an operator at character 7, found the end");
  check("a b", 2, "expected an operator or the end at character 3, found 'b'");
  check("a)", 1, "expected an operator or the end at character 2, found ')'");
  check("2*epx(a)", 2, "expected a function at character 3, found 'epx'; did you mean 'exp'?");
  check("exp(a, b)", 0, "expected 1 argument of exp at character 1, found 2");
  check("max(a)", 0, "expected 2 arguments of max at character 1, found 1");
  check("exp()", 0, "expected 1 argument of exp at character 1, found 0");
  check("exp + 1", 4, "expected '(' after the function 'exp' at character 5, found '+'");
  check("pow(a, b)", 7, "expected an integer from -64 to 64 as the exponent of pow at character 8, found 'b'");
  check("pow(a, 0.5)", 7, "expected an integer from -64 to 64 as the exponent of pow at character 8, found '0.5'");
  check("pow(a, 65)", 7, "expected an integer from -64 to 64 as the exponent of pow at character 8, found '65'");
  check("index(2)", 6, "expected the name of an axis in index() at character 7, found '2'");
  check("index + 1", 6, "expected '(' and an axis after 'index' at character 7, found '+'");
  check("010", 0, "expected a finite decimal number such as 2, 0.5 or 1e-3 at character 1, found '010'");
  check("1e999", 0, "expected a finite decimal number such as 2, 0.5 or 1e-3 at character 1, found '1e999'");
  check("a ^ 2", 2, "expected an operator or the end at character 3, found '^'");
  check("a + β", 4, "expected a number, name or '(' at character 5, found 'β'");
  check("a + \x01", 4, "expected a number, name or '(' at character 5, found '\\x01'");
}

TEST_CASE("length and depth of an expression are bounded") {
  CHECK(parsed(std::string(63, '(') + "a" + std::string(63, ')')) == Expression::array("a"));
  CHECK(refused(std::string(64, '(') + "a" + std::string(64, ')')).message.find("at most 64 levels") !=
        std::string::npos);
  CHECK(refused(std::string(4000, '-') + "a").message.find("at most 64 levels") != std::string::npos);
  CHECK(refused(std::string(4000, '(')).message.find("at most 64 levels") != std::string::npos);
  std::string sum = "a";
  while (sum.size() + 4 <= longest_expression) sum += " + a";
  CHECK(to_text(parsed(sum)) == sum);
  CHECK(refused(sum + " + a").message == "expected at most 4096 characters, found 4097");
}

TEST_CASE("no byte string crashes the parser of expressions") {
  std::mt19937_64 random(test_seed());
  const std::string bytes = "ab1.e+-*/()', expmaxpow index(x)\n\x80\xff";
  for (int i = 0; i < 20000; ++i) {
    std::string text;
    for (std::size_t length = random() % 24; length > 0; --length) text += bytes[random() % bytes.size()];
    const auto result = parse_expression(text);
    if (const auto* error = std::get_if<ExpressionError>(&result)) {
      CHECK(error->position <= text.size());
      CHECK(!error->message.empty());
    } else {
      const Expression expression = std::get<Expression>(result);
      CHECK(parsed(to_text(expression)) == expression);
    }
  }
}

TEST_CASE("a read at an index is refused with that index and what to do") {
  const auto refused = parse_expression("X[n*2 - t]*W");
  const auto* error = std::get_if<ExpressionError>(&refused);
  REQUIRE(error != nullptr);
  CHECK(error->position == 0);
  CHECK(error->message.find("[n*2 - t]") != std::string::npos);
  CHECK(error->message.find("write X") != std::string::npos);
}

TEST_CASE("the printed text of any expression parses to the same expression") {
  std::mt19937_64 random(test_seed());
  for (int i = 0; i < 2000; ++i) {
    const Expression expression = random_expression(random, 6);
    CHECK(parsed(to_text(expression)) == expression);
  }
}

TEST_CASE("the printed text of an expression has no redundant parentheses") {
  std::mt19937_64 random(test_seed());
  int removable = 0, pairs = 0;
  for (int i = 0; i < 300; ++i) {
    const Expression expression = random_expression(random, 4);
    const std::string text = to_text(expression);
    std::vector<std::size_t> open;
    for (std::size_t at = 0; at < text.size(); ++at) {
      if (text[at] == '(') open.push_back(at);
      if (text[at] != ')') continue;
      const std::size_t start = open.back();
      open.pop_back();
      if (start > 0 && std::isalnum(static_cast<unsigned char>(text[start - 1]))) continue;  // a call
      const std::string without = text.substr(0, start) + text.substr(start + 1, at - start - 1) + text.substr(at + 1);
      const auto result = parse_expression(without);
      ++pairs;
      removable += std::holds_alternative<Expression>(result) && std::get<Expression>(result) == expression;
    }
  }
  CHECK(pairs > 100);
  CHECK(removable == 0);
}

}  // namespace tilescope::parse_test
