#include "expr/simplify.h"

#include <algorithm>
#include <cmath>

#include "expr/evaluate.h"
#include "expr/normal_form.h"

namespace tilescope {
namespace {

using Kind = Expression::Kind;

// A constant function of constants, where its value is exact.
std::optional<double> folded(Function function, double a, double b) {
  const double value = apply(function, a, b);
  switch (function) {
    case Function::max:
    case Function::min:
    case Function::abs:
      return value;
    case Function::exp:
    case Function::tanh:
      return a == 0 ? std::optional(value) : std::nullopt;
    case Function::log:
      return a == 1 ? std::optional(value) : std::nullopt;
    case Function::sigmoid:
      return a == 0 ? std::optional(0.5) : std::nullopt;
    case Function::sqrt:
      return a >= 0 && std::fma(value, value, -a) == 0 ? std::optional(value) : std::nullopt;
    case Function::rsqrt:
      return a == 1 ? std::optional(1.0) : std::nullopt;
    default:
      return std::nullopt;  // square and pow are products
  }
}

// exp(part)^exponent of one product, and the position of its first factor.
struct Exponentials {
  std::vector<std::pair<Expression, int>> parts{};
  std::size_t place = 0;
};

class Simplifier {
 public:
  Expression simplified(const Expression& expression) const {
    if (is_sum(expression)) {
      FlatSum sum;
      collect(expression, Ratio{}, sum);
      return sum.rebuilt();
    }
    if (!is_product(expression) && !expression.is_call(Function::exp))
      return expression.kind() == Kind::call ? called(expression) : expression;
    const FlatProduct product = as_product(expression);
    if (product.factors.size() != 1 || product.factors[0].exponent != 1 || !is_sum(product.factors[0].base))
      return product.rebuilt();
    FlatSum sum;  // c*(a + b) = c*a + c*b
    add_scaled(product, sum);
    return sum.rebuilt();
  }

 private:
  void collect(const Expression& expression, Ratio scale, FlatSum& sum) const {
    if (is_sum(expression)) {
      collect(expression.operands()[0], scale, sum);
      if (expression.kind() == Kind::subtract) scale.top = -scale.top;
      return collect(expression.operands()[1], scale, sum);
    }
    FlatProduct product = as_product(expression);
    const auto constant = tilescope::product(product.constant, scale);
    if (constant) product.constant = *constant;
    else product.multiply(Expression::number(scale.top) / Expression::number(scale.bottom), 1);
    add_scaled(product, sum);
  }

  // A product that is a constant times one sum joins term by term.
  void add_scaled(const FlatProduct& product, FlatSum& sum) const {
    const bool distributes =
        product.factors.size() == 1 && product.factors[0].exponent == 1 && is_sum(product.factors[0].base);
    if (distributes) collect(product.factors[0].base, product.constant, sum);
    else sum.add(product);
  }

  FlatProduct as_product(const Expression& expression) const {
    FlatProduct product;
    Exponentials exponents;
    gather(expression, 1, product, exponents);
    if (!exponents.parts.empty()) join_exponentials(exponents, product);
    product.join_roots();
    return product;
  }

  void gather(const Expression& expression, int exponent, FlatProduct& product, Exponentials& exponents) const {
    const auto operands = expression.operands();
    if (exponent == 0) return;
    if (expression.kind() == Kind::multiply || expression.kind() == Kind::divide) {
      gather(operands[0], exponent, product, exponents);
      return gather(operands[1], expression.kind() == Kind::divide ? -exponent : exponent, product, exponents);
    }
    if (expression.kind() == Kind::negate) {
      if (exponent % 2 != 0) product.constant.top = -product.constant.top;
      return gather(operands[0], exponent, product, exponents);
    }
    if (expression.kind() == Kind::number) return product.multiply(expression.value(), exponent);
    if (expression.is_call(Function::exp)) {
      if (exponents.parts.empty()) exponents.place = product.factors.size();
      exponents.parts.emplace_back(operands[0], exponent);
      return;
    }
    if (expression.is_call(Function::square) || expression.is_call(Function::pow)) {
      const int inner = expression.is_call(Function::square) ? 2 : static_cast<int>(operands[1].value());
      const int both = inner * exponent;
      if (std::abs(both) <= Expression::largest_exponent) return gather(operands[0], both, product, exponents);
      return product.multiply(Expression::pow(simplified(operands[0]), inner), exponent);
    }
    const Expression atom = is_sum(expression) || expression.kind() == Kind::call ? simplified(expression) : expression;
    const bool open = is_product(atom) || atom.kind() == Kind::number || atom.is_call(Function::exp);
    if (open) return gather(atom, exponent, product, exponents);  // max(a*b, a*b) has become a*b
    product.multiply(atom, exponent);
  }

  // exp(a)^p * exp(b)^q = exp(p*a + q*b), and integer multiples of logarithms leave the exponent.
  void join_exponentials(const Exponentials& exponents, FlatProduct& product) const {
    FlatSum argument;
    for (const auto& [part, exponent] : exponents.parts)
      collect(part, Ratio{.top = static_cast<double>(exponent)}, argument);
    FlatSum rest;
    Exponentials more;
    for (const FlatSum::Summand& term : argument.terms) {
      const auto& [constant, factors] = term.product;
      const bool logarithm = factors.size() == 1 && factors[0].exponent == 1 &&
                             factors[0].base.is_call(Function::log) && constant.bottom == 1 &&
                             constant.top == std::floor(constant.top) &&
                             std::abs(constant.top) <= Expression::largest_exponent;
      if (logarithm) gather(factors[0].base.operands()[0], static_cast<int>(constant.top), product, more);
      else rest.terms.push_back(term);
    }
    if (!rest.terms.empty()) product.multiply(Expression::call(Function::exp, {rest.rebuilt()}), 1, exponents.place);
    if (!more.parts.empty()) join_exponentials(more, product);
  }

  Expression called(const Expression& expression) const {
    std::vector<Expression> parts;
    for (const Expression& operand : expression.operands()) parts.push_back(simplified(operand));
    const Function function = expression.function();
    if (parts[0].kind() == Kind::number && (parts.size() == 1 || parts[1].kind() == Kind::number)) {
      const auto value = folded(function, parts[0].value(), parts.size() == 1 ? 0 : parts[1].value());
      if (value && std::isfinite(*value)) return Expression::number(*value);
    }
    if ((function == Function::max || function == Function::min) &&
        order_free_key(parts[0]) == order_free_key(parts[1]))
      return parts[0];
    if (function == Function::abs && (parts[0].is_call(Function::exp) || parts[0].is_call(Function::abs)))
      return parts[0];
    if (function == Function::log) return logarithm(parts[0]);
    return Expression::call(function, std::move(parts));
  }

  // log(exp(a)*b) = a + log(b): both sides exist only where b > 0.
  Expression logarithm(const Expression& of) const {
    const Expression whole = Expression::call(Function::log, {of});
    if (of.is_call(Function::exp)) return of.operands()[0];
    if (!is_product(of)) return whole;
    FlatProduct product = as_product(of);
    const auto exponential = std::find_if(product.factors.begin(), product.factors.end(),
                                          [](const auto& factor) { return factor.base.is_call(Function::exp); });
    if (exponential == product.factors.end()) return whole;
    const Expression argument = exponential->base.operands()[0];
    product.factors.erase(exponential);
    return simplified(argument + Expression::call(Function::log, {product.rebuilt()}));
  }
};

}  // namespace

Expression simplify(const Expression& expression) { return Simplifier().simplified(expression); }

bool proven_equal(const Expression& a, const Expression& b) { return simplify(a - b).is_number(0); }

}  // namespace tilescope
