#include "stream/quotient.h"

#include <cmath>
#include <optional>
#include <vector>

#include "expr/normal_form.h"
#include "expr/simplify.h"

namespace tilescope {
namespace {

using Kind = Expression::Kind;
using Summands = std::vector<Expression>;  // a sum of products
constexpr std::size_t most_summands = 256;

struct TooLong {};

void add_terms(const Expression& e, bool negative, Summands& terms) {
  if (is_sum(e)) {
    add_terms(e.operands()[0], negative, terms);
    return add_terms(e.operands()[1], negative != (e.kind() == Kind::subtract), terms);
  }
  terms.push_back(negative ? -e : e);
}

Summands like_summands_joined(const Summands& terms) {
  Expression sum;
  for (const Expression& term : terms) sum = sum + term;
  Summands result;
  add_terms(simplify(sum), false, result);
  if (result.size() > most_summands) throw TooLong{};
  return result;
}

Summands product(const Summands& a, const Summands& b) {
  if (a.size() * b.size() > most_summands) throw TooLong{};
  Summands result;
  for (const Expression& x : a)
    for (const Expression& y : b) result.push_back(x * y);
  return like_summands_joined(result);
}

struct Quotient {
  Summands top, bottom{Expression::number(1)};
};

Quotient product(const Quotient& a, const Quotient& b) { return {product(a.top, b.top), product(a.bottom, b.bottom)}; }

Quotient quotient(const Expression& e) {
  const auto operands = e.operands();
  switch (e.kind()) {
    case Kind::multiply:
      return product(quotient(operands[0]), quotient(operands[1]));
    case Kind::divide: {
      const Quotient divisor = quotient(operands[1]);
      return product(quotient(operands[0]), {divisor.bottom, divisor.top});
    }
    case Kind::negate:
      return product({{Expression::number(-1)}}, quotient(operands[0]));
    case Kind::add:
    case Kind::subtract: {
      const Quotient a = quotient(operands[0]), b = quotient(operands[1]);
      Summands top = product(a.top, b.bottom);
      for (const Expression& term : product(b.top, a.bottom)) top.push_back(e.kind() == Kind::subtract ? -term : term);
      return {like_summands_joined(top), product(a.bottom, b.bottom)};
    }
    default:
      break;
  }
  if (e.is_call(Function::square)) return product(quotient(operands[0]), quotient(operands[0]));
  if (!e.is_call(Function::pow)) return {{e}};
  Quotient power{{Expression::number(1)}};
  const int exponent = static_cast<int>(operands[1].value());
  const Quotient base = quotient(operands[0]);
  for (int i = 0; i < std::abs(exponent); ++i) power = product(power, base);
  return exponent < 0 ? Quotient{power.bottom, power.top} : power;
}

bool equal(const Expression& a, const Expression& b) {
  if (proven_equal(a, b)) return true;
  const Quotient left = quotient(simplify(a)), right = quotient(simplify(b));
  Summands difference = product(left.top, right.bottom);
  for (const Expression& term : product(right.top, left.bottom)) difference.push_back(-term);
  const Summands rest = like_summands_joined(difference);
  return rest.size() == 1 && rest[0].is_number(0);
}

}  // namespace

bool proven_equal_as_quotients(const Expression& a, const Expression& b) {
  try {
    return equal(a, b) || equal(Expression::call(Function::exp, {a}), Expression::call(Function::exp, {b}));
  } catch (const TooLong&) {
    return false;
  }
}

}  // namespace tilescope
