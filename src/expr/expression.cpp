#include "expr/expression.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

#include "base/contains.h"
#include "expr/characters.h"
#include "expr/functions.h"

namespace tilescope {

struct Expression::Node {
  Kind kind = Kind::number;
  Function function = Function::exp;
  double value = 0;
  std::string name{};
  std::vector<Expression> operands{};
};

namespace {

using Kind = Expression::Kind;

void check_name(const std::string& name) {
  if (!is_expression_name(name)) throw std::invalid_argument("an expression cannot name '" + name + "'");
}

// Visits names in the order of the text; `kind` picks the leaves.
void collect(const Expression& expression, bool (*wanted)(Kind), std::vector<std::string>& names) {
  if (wanted(expression.kind()) && !contains(names, expression.name())) names.push_back(expression.name());
  for (const Expression& operand : expression.operands()) collect(operand, wanted, names);
}

std::vector<std::string> collected(const Expression& expression, bool (*wanted)(Kind)) {
  std::vector<std::string> names;
  collect(expression, wanted, names);
  return names;
}

}  // namespace

std::string to_string(Function function) {
  return std::string(function_table[static_cast<std::size_t>(function)].name);
}

std::size_t argument_count(Function function) { return function_table[static_cast<std::size_t>(function)].arguments; }

std::optional<Function> function_named(std::string_view name) {
  for (std::size_t i = 0; i < function_table.size(); ++i)
    if (function_table[i].name == name) return static_cast<Function>(i);
  return std::nullopt;
}

bool is_expression_name(std::string_view name) {
  if (name == "index" || name == "size" || function_named(name)) return false;
  while (name.ends_with('\'')) name.remove_suffix(1);
  if (name.empty() || !letter(name.front())) return false;
  return std::all_of(name.begin(), name.end(), [](char c) { return letter(c) || digit(c); });
}

Expression::Expression() {
  static const std::shared_ptr<const Node> zero = std::make_shared<const Node>();
  node_ = zero;
}

Expression::Expression(std::shared_ptr<const Node> node) : node_(std::move(node)) {}

Expression Expression::number(double value) {
  if (!std::isfinite(value)) throw std::invalid_argument("a number in an expression must be finite");
  return Expression(std::make_shared<const Node>(Node{.value = value == 0 ? 0.0 : value}));  // one zero, not two
}

Expression Expression::array(std::string name) {
  check_name(name);
  return Expression(std::make_shared<const Node>(Node{.kind = Kind::array, .name = std::move(name)}));
}

Expression Expression::index(std::string axis) {
  check_name(axis);
  return Expression(std::make_shared<const Node>(Node{.kind = Kind::index, .name = std::move(axis)}));
}

Expression Expression::size(std::string axis) {
  check_name(axis);
  return Expression(std::make_shared<const Node>(Node{.kind = Kind::size, .name = std::move(axis)}));
}

Expression Expression::call(Function function, std::vector<Expression> arguments) {
  if (arguments.size() != argument_count(function))
    throw std::invalid_argument(to_string(function) + " has another number of arguments");
  if (function == Function::pow) {
    const double exponent = arguments[1].value();
    if (arguments[1].kind() != Kind::number || exponent != std::floor(exponent) ||
        std::abs(exponent) > largest_exponent)
      throw std::invalid_argument("the exponent of pow must be an integer from -64 to 64");
  }
  return Expression(
      std::make_shared<const Node>(Node{.kind = Kind::call, .function = function, .operands = std::move(arguments)}));
}

Expression Expression::pow(Expression base, int exponent) {
  return call(Function::pow, {std::move(base), number(exponent)});
}

Expression Expression::operator-() const {
  if (kind() == Kind::number) return number(-value());
  return Expression(std::make_shared<const Node>(Node{.kind = Kind::negate, .operands = {*this}}));
}

Expression Expression::binary(Kind kind, const Expression& a, const Expression& b) {
  return Expression(std::make_shared<const Node>(Node{.kind = kind, .operands = {a, b}}));
}

Expression Expression::with_operands(std::vector<Expression> operands) const {
  if (operands.size() != this->operands().size()) throw std::invalid_argument("another number of operands");
  if (operands.empty()) return *this;
  if (kind() == Kind::call) return call(function(), std::move(operands));
  if (kind() == Kind::negate) return -operands[0];
  return binary(kind(), operands[0], operands[1]);
}

Expression::Kind Expression::kind() const { return node_->kind; }
double Expression::value() const { return node_->value; }
const std::string& Expression::name() const { return node_->name; }
Function Expression::function() const { return node_->function; }
std::span<const Expression> Expression::operands() const { return node_->operands; }
bool Expression::is_number(double value) const { return kind() == Kind::number && this->value() == value; }
bool Expression::is_call(Function function) const { return kind() == Kind::call && this->function() == function; }

std::vector<std::string> Expression::arrays() const {
  return collected(*this, [](Kind kind) { return kind == Kind::array; });
}
std::vector<std::string> Expression::index_axes() const {
  return collected(*this, [](Kind kind) { return kind == Kind::index; });
}
std::vector<std::string> Expression::size_axes() const {
  return collected(*this, [](Kind kind) { return kind == Kind::size; });
}
std::vector<std::string> Expression::axes() const {
  return collected(*this, [](Kind kind) { return kind == Kind::index || kind == Kind::size; });
}

bool Expression::uses(std::string_view array) const {
  if (kind() == Kind::array && name() == array) return true;
  return std::any_of(operands().begin(), operands().end(), [&](const Expression& part) { return part.uses(array); });
}

bool operator==(const Expression& a, const Expression& b) {
  if (a.node_ == b.node_) return true;
  return a.kind() == b.kind() && a.function() == b.function() && a.value() == b.value() && a.name() == b.name() &&
         std::equal(a.operands().begin(), a.operands().end(), b.operands().begin(), b.operands().end());
}

Expression substitute(const Expression& expression,
                      const std::map<std::string, Expression, std::less<>>& replacements) {
  if (expression.kind() == Kind::array) {
    const auto found = replacements.find(expression.name());
    return found == replacements.end() ? expression : found->second;
  }
  if (expression.operands().empty()) return expression;
  std::vector<Expression> operands;
  for (const Expression& operand : expression.operands()) operands.push_back(substitute(operand, replacements));
  if (std::equal(operands.begin(), operands.end(), expression.operands().begin())) return expression;
  return expression.with_operands(std::move(operands));
}

Expression substitute(const Expression& expression, const std::string& name, const Expression& replacement) {
  return substitute(expression, {{name, replacement}});
}

}  // namespace tilescope
