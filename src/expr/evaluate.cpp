#include "expr/evaluate.h"

#include <cmath>
#include <limits>

namespace tilescope {
namespace {

using Kind = Expression::Kind;

double larger(double a, double b) {
  return std::isnan(a) || std::isnan(b) ? std::numeric_limits<double>::quiet_NaN() : std::max(a, b);
}

// By squaring, so that results do not depend on the host's pow.
double power(double base, int exponent) {
  double result = 1;
  for (int left = std::abs(exponent); left > 0; left /= 2, base *= base)
    if (left % 2 == 1) result *= base;
  return exponent < 0 ? 1 / result : result;
}

}  // namespace

double apply(Function function, double a, double b) {
  switch (function) {
    case Function::exp:
      return std::exp(a);
    case Function::log:
      return std::log(a);
    case Function::sqrt:
      return std::sqrt(a);
    case Function::rsqrt:
      return 1 / std::sqrt(a);
    case Function::tanh:
      return std::tanh(a);
    case Function::sigmoid:  // the branch keeps exp's argument negative, so that it never overflows
      return a < 0 ? std::exp(a) / (1 + std::exp(a)) : 1 / (1 + std::exp(-a));
    case Function::abs:
      return std::abs(a);
    case Function::square:
      return a * a;
    case Function::max:
      return larger(a, b);
    case Function::min:
      return -larger(-a, -b);
    case Function::pow:
      return power(a, static_cast<int>(b));
  }
  return std::numeric_limits<double>::quiet_NaN();
}

double evaluate(const Expression& expression, const Lookup& lookup) {
  const auto operands = expression.operands();
  const auto operand = [&](std::size_t i) { return evaluate(operands[i], lookup); };
  switch (expression.kind()) {
    case Kind::number:
      return expression.value();
    case Kind::array:
      return lookup.array(expression.name());
    case Kind::index:
      return lookup.index(expression.name());
    case Kind::size:
      return lookup.size(expression.name());
    case Kind::negate:
      return -operand(0);
    case Kind::add:
      return operand(0) + operand(1);
    case Kind::subtract:
      return operand(0) - operand(1);
    case Kind::multiply:
      return operand(0) * operand(1);
    case Kind::divide:
      return operand(0) / operand(1);
    case Kind::call:
      return apply(expression.function(), operand(0), operands.size() > 1 ? operand(1) : 0);
  }
  return std::numeric_limits<double>::quiet_NaN();
}

}  // namespace tilescope
