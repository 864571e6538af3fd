#include "program/numeric.h"

#include <cmath>
#include <stdexcept>

#include "expr/evaluate.h"

namespace tilescope {

Values::Values(const std::vector<AxisId>& of, const Coordinates& sizes, double fill) : axes(of) {
  std::int64_t stride = 1;
  for (auto axis = of.rbegin(); axis != of.rend(); ++axis) {
    strides[index(*axis)] = stride;
    stride *= sizes[index(*axis)];
  }
  all.assign(static_cast<std::size_t>(stride), fill);
}

std::int64_t Box::volume(const std::vector<AxisId>& axes) const {
  std::int64_t count = 1;
  for (const AxisId axis : axes) count *= end[index(axis)] - first[index(axis)];
  return count;
}

NumericExpression::NumericExpression(const Expression& expression, const Diagram& diagram, const Coordinates& sizes,
                                     const Find& find) {
  add(expression, diagram, sizes, find);
  stack_.reserve(steps_.size());
}

void NumericExpression::add(const Expression& expression, const Diagram& diagram, const Coordinates& sizes,
                            const Find& find) {
  using Kind = Expression::Kind;
  Step step{.kind = expression.kind(), .operands = static_cast<int>(expression.operands().size())};
  for (const Expression& operand : expression.operands()) add(operand, diagram, sizes, find);
  if (step.kind == Kind::number) step.number = expression.value();
  if (step.kind == Kind::call) step.function = expression.function();
  if (step.kind == Kind::index || step.kind == Kind::size) {
    const auto axis = diagram.find_axis(expression.name());
    if (!axis) throw std::logic_error("no axis '" + expression.name() + "'");
    step.axis = index(*axis);
    if (step.kind == Kind::size) step.kind = Kind::number, step.number = static_cast<double>(sizes[step.axis]);
  }
  if (step.kind == Kind::array) {
    step.source = find(expression.name());
    if (!step.source.values) throw std::logic_error("no value called '" + expression.name() + "'");
  }
  steps_.push_back(step);
}

double NumericExpression::at(const Coordinates& point) const {
  using Kind = Expression::Kind;
  stack_.clear();
  const auto binary = [&](auto apply_to) {
    const double b = stack_.back();
    stack_.pop_back();
    stack_.back() = apply_to(stack_.back(), b);
  };
  for (const Step& step : steps_) switch (step.kind) {
      case Kind::number:
      case Kind::size:
        stack_.push_back(step.number);
        break;
      case Kind::index:
        stack_.push_back(static_cast<double>(point[step.axis]));
        break;
      case Kind::array: {
        const double value = step.source.values->at(point);
        stack_.push_back(step.source.finite && std::isinf(value) ? 0 : value);
        break;
      }
      case Kind::negate:
        stack_.back() = -stack_.back();
        break;
      case Kind::add:
        binary([](double a, double b) { return a + b; });
        break;
      case Kind::subtract:
        binary([](double a, double b) { return a - b; });
        break;
      case Kind::multiply:
        binary([](double a, double b) { return a * b; });
        break;
      case Kind::divide:
        binary([](double a, double b) { return a / b; });
        break;
      case Kind::call:
        if (step.operands == 2) binary([&](double a, double b) { return apply(step.function, a, b); });
        else stack_.back() = apply(step.function, stack_.back());
        break;
    }
  return stack_.back();
}

}  // namespace tilescope
