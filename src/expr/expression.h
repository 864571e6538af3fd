// Formulas over arrays: what one element of an output is, in terms of elements of the inputs.
//
//   exp(S - m)/z*V + 0.5*(index(x) - index(q))
//
// An Expression is an immutable value; copies share their nodes. A name stands for one element of an array (the caller
// knows the array's axes), index(axis) for the position along an axis, size(axis) for its length.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope {

enum class Function { exp, log, sqrt, rsqrt, tanh, sigmoid, abs, square, max, min, pow };

std::string to_string(Function function);
std::size_t argument_count(Function function);

class Expression {
 public:
  enum class Kind { number, array, index, size, negate, add, subtract, multiply, divide, call };
  static constexpr int largest_exponent = 64;  // of pow(x, integer), in magnitude

  Expression();  // the number 0
  // These functions throw std::invalid_argument for anything that the text form cannot express: a value that is not
  // finite, a name that is not an identifier (letters, digits, '_', then any number of ') or is a function's name, a
  // wrong argument count, an exponent of pow that is not an integer in [-64, 64]. The negation of a number is a number.
  static Expression number(double value);
  static Expression array(std::string name);
  static Expression index(std::string axis);
  static Expression size(std::string axis);
  static Expression call(Function function, std::vector<Expression> arguments);
  static Expression pow(Expression base, int exponent);
  Expression operator-() const;
  friend Expression operator+(const Expression& a, const Expression& b) { return binary(Kind::add, a, b); }
  friend Expression operator-(const Expression& a, const Expression& b) { return binary(Kind::subtract, a, b); }
  friend Expression operator*(const Expression& a, const Expression& b) { return binary(Kind::multiply, a, b); }
  friend Expression operator/(const Expression& a, const Expression& b) { return binary(Kind::divide, a, b); }
  // The same kind of node over other operands. Throws std::invalid_argument when their number differs.
  Expression with_operands(std::vector<Expression> operands) const;

  Kind kind() const;
  double value() const;                          // of a number, else 0
  const std::string& name() const;               // of an array; the axis of index and size; else empty
  Function function() const;                     // of a call
  std::span<const Expression> operands() const;  // of negate, a binary operator or a call; pow's exponent is a number
  bool is_number(double value) const;            // exactly this number
  bool is_call(Function function) const;         // a call of this function

  // Names in order of first use, each once.
  std::vector<std::string> arrays() const;
  std::vector<std::string> index_axes() const;
  std::vector<std::string> size_axes() const;
  std::vector<std::string> axes() const;  // of index and size together
  bool uses(std::string_view array) const;

  friend bool operator==(const Expression& a, const Expression& b);  // the same tree, not the same function

 private:
  struct Node;
  explicit Expression(std::shared_ptr<const Node> node);
  static Expression binary(Kind kind, const Expression& a, const Expression& b);
  std::shared_ptr<const Node> node_;
};

// Whether an array or axis may be called this.
bool is_expression_name(std::string_view name);

// Text with as few parentheses as keep the tree: parse_expression(to_text(e)) == e for every e within the parser's
// bounds on length and depth.
std::string to_text(const Expression& expression);

// Replaces arrays by expressions, all at once: the replacements are not searched again.
Expression substitute(const Expression& expression, const std::map<std::string, Expression, std::less<>>& replacements);
Expression substitute(const Expression& expression, const std::string& name, const Expression& replacement);

}  // namespace tilescope
