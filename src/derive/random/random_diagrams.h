// Tests only: random small diagrams of contractions, softmax, pointwise expressions and reductions, some with a guard.
#pragma once

#include <fmt/format.h>

#include <algorithm>

#include "base/contains.h"
#include "derive/random/random_points.h"
#include "diagram/diagram.h"

namespace tilescope {

class RandomDiagram {
 public:
  explicit RandomDiagram(RandomPoints& random) : random_(random) {}

  Diagram run() {
    diagram_.name = diagram_.summary = "random";
    const std::int64_t axes = random_.between(3, 5), inputs = random_.between(2, 3), operators = random_.between(1, 4);
    for (std::int64_t i = 0; i < axes; ++i) {
      const std::string name = fmt::format("a{}", i);
      diagram_.axes.push_back({.name = name, .size = "n" + name, .length = 4});
    }
    for (std::int64_t i = 0; i < inputs; ++i)
      add_array(fmt::format("I{}", i), some_axes(all_axes(), 1), ArrayRole::input);
    for (std::int64_t i = 0; i < operators; ++i) add_operator(i);
    finish();
    return diagram_;
  }

 private:
  std::vector<AxisId> all_axes() const {
    std::vector<AxisId> all;
    for (std::size_t i = 0; i < diagram_.axes.size(); ++i) all.push_back(static_cast<AxisId>(static_cast<int>(i)));
    return all;
  }
  // A random subset with at least so many elements, in the same order.
  std::vector<AxisId> some_axes(const std::vector<AxisId>& of, std::size_t least) {
    std::vector<AxisId> chosen;
    for (const AxisId axis : of)
      if (random_.between(0, 2) > 0) chosen.push_back(axis);
    for (std::size_t i = 0; i < of.size() && chosen.size() < least; ++i)
      if (!contains(chosen, of[i])) chosen.push_back(of[i]);
    std::sort(chosen.begin(), chosen.end());
    return chosen;
  }
  ArrayId add_array(const std::string& name, std::vector<AxisId> axes, ArrayRole role) {
    diagram_.arrays.push_back({.name = name, .axes = std::move(axes), .role = role, .dtype_key = name});
    return static_cast<ArrayId>(static_cast<int>(diagram_.arrays.size()) - 1);
  }
  // Prefers later arrays, so that the diagram is a chain rather than a star.
  ArrayId some_array() {
    const auto count = static_cast<std::int64_t>(diagram_.arrays.size());
    return static_cast<ArrayId>(
        static_cast<int>(std::max(random_.between(0, count - 1), random_.between(0, count - 1))));
  }
  std::vector<AxisId> joined(const std::vector<ArrayId>& ids) const {
    std::vector<AxisId> axes;
    for (const AxisId axis : all_axes())
      if (std::any_of(ids.begin(), ids.end(), [&](ArrayId id) { return diagram_.array(id).has(axis); }))
        axes.push_back(axis);
    return axes;
  }

  void add_operator(std::int64_t number) {
    Operator op{.name = fmt::format("op{}", number), .kind = OperatorKind::contraction};
    op.inputs = {some_array()};
    if (const ArrayId second = some_array(); second != op.inputs.front()) op.inputs.push_back(second);
    const std::vector<AxisId> axes = joined(op.inputs);
    const std::int64_t choice = random_.between(0, 9);
    if (choice < 4 && op.inputs.size() == 2 && axes.size() > 1) contraction(op, axes);
    else if (choice < 6 && axes.size() > 1) softmax(op);
    else if (choice < 8 && axes.size() > 1) reduction(op, axes);
    else pointwise(op, axes);
    diagram_.operators.push_back(op);
  }
  void output(Operator& op, const std::vector<AxisId>& axes) {
    op.outputs.push_back(
        add_array(fmt::format("T{}{}", diagram_.operators.size(), op.outputs.size()), axes, ArrayRole::interior));
  }
  void contraction(Operator& op, const std::vector<AxisId>& axes) {
    std::vector<AxisId> kept = axes;
    kept.erase(kept.begin() + random_.between(0, static_cast<std::int64_t>(kept.size()) - 1));
    output(op, kept);
  }
  void softmax(Operator& op) {
    op.inputs.resize(1);
    std::vector<AxisId> axes = diagram_.array(op.inputs.front()).axes;
    if (axes.size() < 2) return pointwise(op, axes);
    op.kind = OperatorKind::softmax;
    op.along = axes[static_cast<std::size_t>(random_.between(0, static_cast<std::int64_t>(axes.size()) - 1))];
    output(op, axes);
    std::erase(axes, *op.along);
    if (random_.between(0, 1) == 0) output(op, axes);
  }
  Expression body(const Operator& op) {
    const Expression first = Expression::array(diagram_.array(op.inputs.front()).name);
    const Expression last = Expression::array(diagram_.array(op.inputs.back()).name);
    switch (random_.between(0, 5)) {
      case 0:
        return op.inputs.size() == 2 ? Expression::call(Function::exp, {first - last}) : first * first;
      case 1:
        return first * last;
      case 2:
        return op.inputs.size() == 2 ? first + last : first + Expression::number(1);
      case 3:
        return Expression::call(Function::tanh, {first}) * last;
      case 4:
        return first * Expression::call(Function::rsqrt, {last});
      default:
        return op.inputs.size() == 2 ? first / last : Expression::call(Function::sigmoid, {first});
    }
  }
  void reduction(Operator& op, const std::vector<AxisId>& axes) {
    op.kind = OperatorKind::reduction, op.expression = body(op);
    op.fold = random_.between(0, 2) == 0 ? FoldKind::max : FoldKind::sum;
    std::vector<AxisId> kept = axes;
    const auto at = kept.begin() + random_.between(0, static_cast<std::int64_t>(kept.size()) - 1);
    op.over = {*at};
    kept.erase(at);
    output(op, kept);
  }
  void pointwise(Operator& op, const std::vector<AxisId>& axes) {
    op.kind = OperatorKind::pointwise, op.expression = body(op);
    output(op, axes);
  }

  // Arrays that no operator uses are outputs. The guard relates two axes of an interior array.
  void finish() {
    for (std::size_t a = 0; a < diagram_.arrays.size(); ++a) {
      const auto id = static_cast<ArrayId>(static_cast<int>(a));
      const auto used = [&](const Operator& op) { return contains(op.inputs, id); };
      if (diagram_.arrays[a].role == ArrayRole::interior &&
          std::none_of(diagram_.operators.begin(), diagram_.operators.end(), used))
        diagram_.arrays[a].role = ArrayRole::output;
      if (!diagram_.guard && diagram_.arrays[a].role == ArrayRole::interior && diagram_.arrays[a].axes.size() > 1 &&
          random_.between(0, 1) == 0)
        diagram_.guard = GuardAxes{diagram_.arrays[a].axes[0], diagram_.arrays[a].axes[1]};
    }
  }

  RandomPoints& random_;
  Diagram diagram_;
};

}  // namespace tilescope
