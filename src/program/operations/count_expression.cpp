#include <algorithm>
#include <bit>
#include <cstdlib>

#include "base/contains.h"
#include "program/operations/operations.h"

namespace tilescope {
namespace {

using ExpressionKind = Expression::Kind;

bool is_constant(const Expression& value) { return value.arrays().empty() && value.index_axes().empty(); }

bool is_sum(const Expression& value) {
  return value.kind() == ExpressionKind::add || value.kind() == ExpressionKind::subtract;
}

// Products of pow(x, exponent) by repeated squares.
int squares_of(int exponent) {
  const auto power = static_cast<unsigned>(std::abs(exponent));
  return power == 0 ? 0 : std::bit_width(power) - 1 + std::popcount(power) - 1;
}

}  // namespace

void OperationCounter::set_axes(const std::string& name, Axes axes) {
  std::sort(axes.begin(), axes.end());
  names_.emplace_back(name, std::move(axes));
}

OperationCounter::Axes OperationCounter::axes_of(const Expression& value) const {
  Axes axes;
  const auto join = [&](const Axes& more) {
    for (const AxisId axis : more)
      if (!contains(axes, axis)) axes.push_back(axis);
  };
  for (const std::string& name : value.arrays())
    for (const auto& [known, own] : names_)
      if (known == name) join(own);
  for (const std::string& name : value.index_axes())
    if (const auto axis = diagram_.find_axis(name)) join({*axis});
  std::sort(axes.begin(), axes.end());
  return axes;
}

void OperationCounter::add(Moment when, Axes axes, Operation operation, int times) {
  std::sort(axes.begin(), axes.end());
  const auto same = [&](const OperationGroup& group) { return group.when == when && group.axes == axes; };
  auto group = std::find_if(groups_.begin(), groups_.end(), same);
  if (group == groups_.end()) group = groups_.insert(group, {.when = when, .axes = std::move(axes)});
  group->counts[static_cast<std::size_t>(operation)] += times;
}

bool OperationCounter::used(Moment when, const Expression& value) const {
  return contains(seen_, std::pair(when, to_text(value)));
}

bool OperationCounter::first_use(Moment when, const std::string& value) {
  if (contains(seen_, std::pair(when, value))) return false;
  seen_.emplace_back(when, value);
  return true;
}

bool OperationCounter::ends_in_product(const Expression& value) const {
  if (is_constant(value)) return false;
  switch (value.kind()) {
    case ExpressionKind::negate:
      return ends_in_product(value.operands()[0]);
    case ExpressionKind::multiply:
    case ExpressionKind::divide:
      return !value.operands()[0].is_number(1);
    case ExpressionKind::call:
      return value.is_call(Function::log) || value.is_call(Function::square);
    default:
      return false;
  }
}

void OperationCounter::count(Moment when, const Expression& value, bool fused) {
  if (is_constant(value) || value.kind() == ExpressionKind::array) return;
  if (value.kind() == ExpressionKind::negate) return count(when, value.operands()[0], fused);  // of an operand: free
  if (fused ? used(when, value) : !first_use(when, to_text(value))) return;
  switch (value.kind()) {
    case ExpressionKind::index:
      return add(when, axes_of(value), Operation::position);
    case ExpressionKind::add:
    case ExpressionKind::subtract:
      return count_sum(when, value);
    case ExpressionKind::multiply:
    case ExpressionKind::divide:
      return count_product(when, value, fused);
    case ExpressionKind::call:
      return count_call(when, value, fused);
    default:
      return;
  }
}

void OperationCounter::count_sum(Moment when, const Expression& value) {
  const Axes axes = axes_of(value);
  int fused = -1;
  for (int i = 0; i < 2 && fused < 0; ++i) {
    const Expression& side = value.operands()[static_cast<std::size_t>(i)];
    if (ends_in_product(side) && axes_of(side) == axes && !used(when, side)) fused = i;
  }
  for (int i = 0; i < 2; ++i) count(when, value.operands()[static_cast<std::size_t>(i)], i == fused);
  add(when, axes, fused >= 0 ? Operation::multiply_add : Operation::add);
}

void OperationCounter::count_product(Moment when, const Expression& value, bool fused) {
  const Expression &a = value.operands()[0], &b = value.operands()[1];
  count(when, a), count(when, b);
  if (value.kind() == ExpressionKind::divide && !is_constant(b) && first_use(when, "1 / (" + to_text(b) + ")"))
    add(when, axes_of(b), Operation::special);
  const bool by_one = a.is_number(1) || b.is_number(1);
  if (!fused && !by_one) add(when, axes_of(value), Operation::multiply);
}

void OperationCounter::count_call(Moment when, const Expression& value, bool fused) {
  const Axes axes = axes_of(value);
  if (value.is_call(Function::exp)) return count_exp(when, value);
  for (const Expression& operand : value.operands()) count(when, operand);
  const auto once = [&](Operation operation, int times = 1) {
    if (times > 0) add(when, axes, operation, times);
  };
  switch (value.function()) {
    case Function::log:
      once(Operation::special), once(Operation::multiply, fused ? 0 : 1);
      return;
    case Function::square:
      return once(Operation::multiply, fused ? 0 : 1);
    case Function::sqrt:
    case Function::rsqrt:
    case Function::tanh:
      return once(Operation::special);
    case Function::sigmoid:  // tanh(x / 2) / 2 + 1 / 2
      once(Operation::special), once(Operation::multiply), once(Operation::multiply_add);
      return;
    case Function::max:
    case Function::min:
      return once(Operation::compare);
    case Function::pow: {
      const auto exponent = static_cast<int>(value.operands()[1].value());
      once(Operation::multiply, squares_of(exponent)), once(Operation::special, exponent < 0 ? 1 : 0);
      return;
    }
    case Function::abs:
    case Function::exp:
      return;
  }
}

// exp2 of the argument times log2(e). Constant factors of the argument join log2(e).
void OperationCounter::count_exp(Moment when, const Expression& value) {
  const Expression& argument = value.operands()[0];
  const Axes axes = axes_of(value);
  add(when, axes, Operation::special);
  const auto unscaled = [](const Expression& of) -> const Expression& {
    const bool scaled = (of.kind() == ExpressionKind::multiply || of.kind() == ExpressionKind::divide);
    if (scaled && is_constant(of.operands()[1])) return of.operands()[0];
    if (of.kind() == ExpressionKind::multiply && is_constant(of.operands()[0])) return of.operands()[1];
    return of;
  };
  if (!is_sum(argument)) {
    count(when, unscaled(argument));
    return add(when, axes, Operation::multiply);
  }
  const Expression &a = argument.operands()[0], &b = argument.operands()[1];
  const bool a_less = axes_of(a) != axes, b_less = axes_of(b) != axes;
  if (a_less == b_less) {
    count(when, argument);
    return add(when, axes, Operation::multiply);
  }
  const Expression& less = a_less ? a : b;
  count(when, unscaled(a_less ? b : a)), count(when, less);
  if (!is_constant(less) && first_use(when, "log2(e) * (" + to_text(less) + ")"))
    add(when, axes_of(less), Operation::multiply);
  add(when, axes, Operation::multiply_add);
}

}  // namespace tilescope
