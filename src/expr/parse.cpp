#include "expr/parse.h"

#include <fmt/format.h>

#include <cmath>

#include "base/text.h"
#include "base/units.h"
#include "expr/characters.h"
#include "expr/functions.h"

namespace tilescope {
namespace {

bool space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Expression whole() {
    const Expression result = sum();
    skip_space();
    if (at_ < text_.size()) fail(at_, "expected an operator or the end", found());
    return result;
  }

 private:
  [[noreturn]] void fail(std::size_t position, std::string_view expected, const std::string& finding) const {
    throw ExpressionError{position, fmt::format("{} at character {}, {}", expected, position + 1, finding)};
  }

  void skip_space() {
    while (at_ < text_.size() && space(text_[at_])) ++at_;
  }

  // The text at the current position for a message: a whole word or number, else one byte.
  std::string found() const {
    if (at_ >= text_.size()) return "found the end";
    return "found " +
           shown_text(text_.substr(at_, std::max({std::size_t{1}, word_length(), utf8_length(text_.substr(at_))})));
  }

  std::size_t word_length() const {
    std::size_t end = at_;
    while (end < text_.size() && (letter(text_[end]) || digit(text_[end]))) ++end;
    while (end > at_ && end < text_.size() && text_[end] == '\'') ++end;
    return end - at_;
  }

  bool take(char c) {
    skip_space();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  void need(char c, std::string_view what) {
    if (!take(c)) fail(at_, fmt::format("expected '{}' {}", c, what), found());
  }

  Expression sum() {
    Expression left = product();
    while (true) {
      if (take('+')) left = left + product();
      else if (take('-')) left = left - product();
      else return left;
    }
  }

  Expression product() {
    Expression left = sign();
    while (true) {
      if (take('*')) left = left * sign();
      else if (take('/')) left = left / sign();
      else return left;
    }
  }

  Expression sign() {
    const std::size_t start = at_;
    if (++depth_ > deepest_expression)
      fail(start, fmt::format("expected at most {} levels of parentheses", deepest_expression), "found more");
    const Expression result = take('-') ? -sign() : primary();
    --depth_;
    return result;
  }

  Expression primary() {
    skip_space();
    if (take('(')) {
      const Expression inside = sum();
      need(')', "or an operator");
      return inside;
    }
    if (at_ < text_.size() && digit(text_[at_])) return number();
    if (at_ < text_.size() && letter(text_[at_])) return word();
    fail(at_, "expected a number, name or '('", found());
  }

  Expression number() {
    const std::size_t start = at_;
    while (at_ < text_.size() && (digit(text_[at_]) || text_[at_] == '.')) ++at_;
    if (at_ < text_.size() && (text_[at_] == 'e' || text_[at_] == 'E')) {
      ++at_;
      if (at_ < text_.size() && (text_[at_] == '+' || text_[at_] == '-')) ++at_;
      while (at_ < text_.size() && digit(text_[at_])) ++at_;
    }
    const std::string_view digits = text_.substr(start, at_ - start);
    const auto value = parse_decimal(digits);
    if (!value) fail(start, "expected a finite decimal number such as 2, 0.5 or 1e-3", "found " + shown_text(digits));
    return Expression::number(*value);
  }

  Expression word() {
    const std::size_t start = at_;
    const std::string name(text_.substr(at_, word_length()));
    at_ += name.size();
    const bool called = take('(');
    if (name == "index" || name == "size") {
      if (!called) fail(at_, fmt::format("expected '(' and an axis after '{}'", name), found());
      return axis(name);
    }
    const auto function = function_named(name);
    if (!called && function) fail(at_, fmt::format("expected '(' after the function '{}'", name), found());
    if (!called && at_ < text_.size() && text_[at_] == '[')
      fail(
          start, fmt::format("expected the array's name '{}' alone", name),
          fmt::format("found the index {}: every operator reads arrays at the position of their own axes; affine reads "
                      "such as X[n + t] are not supported; give the windows as an input with both axes and write {}",
                      shown_text(text_.substr(at_, text_.substr(at_).find(']') + 1)), name));
    if (!called) return Expression::array(name);
    if (!function) fail(start, "expected a function", "found " + shown_text(name) + did_you_mean(name, callables()));
    return call(*function, start);
  }

  static std::vector<std::string> callables() {
    std::vector<std::string> names{"index", "size"};
    for (const FunctionRow& row : function_table) names.emplace_back(row.name);
    return names;
  }

  Expression axis(const std::string& which) {
    skip_space();
    const std::string name(text_.substr(at_, word_length()));
    if (!is_expression_name(name)) fail(at_, fmt::format("expected the name of an axis in {}()", which), found());
    at_ += name.size();
    need(')', fmt::format("after the axis of {}", which));
    return which == "index" ? Expression::index(name) : Expression::size(name);
  }

  Expression call(Function function, std::size_t start) {
    std::vector<Expression> arguments;
    skip_space();
    std::size_t last = at_;
    if (!take(')')) {
      do {
        skip_space();
        last = at_;
        arguments.push_back(sum());
      } while (take(','));
      if (skip_space(); at_ >= text_.size())
        fail(at_, fmt::format("expected ')' or ',' in the arguments of {}", to_string(function)),
             "found the end; quote an expression that has a comma, or YAML ends it there");
      need(')', fmt::format("or ',' in the arguments of {}", to_string(function)));
    }
    const std::size_t wanted = argument_count(function);
    if (arguments.size() != wanted)
      fail(start, fmt::format("expected {} argument{} of {}", wanted, wanted == 1 ? "" : "s", to_string(function)),
           fmt::format("found {}", arguments.size()));
    if (function == Function::pow) {
      const Expression& exponent = arguments[1];
      if (exponent.kind() != Expression::Kind::number || exponent.value() != std::floor(exponent.value()) ||
          std::abs(exponent.value()) > Expression::largest_exponent)
        fail(last,
             fmt::format("expected an integer from -{0} to {0} as the exponent of pow", Expression::largest_exponent),
             "found " + shown_text(to_text(exponent)));
    }
    return Expression::call(function, std::move(arguments));
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

std::variant<Expression, ExpressionError> parse_expression(std::string_view text) {
  if (text.size() > longest_expression)
    return ExpressionError{longest_expression,
                           fmt::format("expected at most {} characters, found {}", longest_expression, text.size())};
  try {
    return Parser(text).whole();
  } catch (const ExpressionError& error) {
    return error;
  }
}

}  // namespace tilescope
